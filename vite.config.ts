import { readFileSync } from 'node:fs'
import { defineConfig } from 'vite'

interface Manifest {
  readonly dependencies: Record<string, string>
  readonly peerDependencies: Record<string, string>
}

const manifest = JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8')) as Manifest
const packages = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies)]

/** The package: one file per source file, so that a host's bundler can leave out what it does not use. */
export default defineConfig({
  build: {
    target: 'es2023',
    minify: false,
    sourcemap: true,
    lib: {
      entry: {
        index: 'src/index.ts',
        'react/index': 'src/react/index.ts',
        'agentskit/index': 'src/agentskit/index.ts',
        'protocol/index': 'src/protocol/index.ts',
        'testing/index': 'src/testing/index.ts',
      },
      formats: ['es'],
    },
    rolldownOptions: {
      external: (id) => packages.some((name) => id === name || id.startsWith(`${name}/`)),
      output: { preserveModules: true, preserveModulesRoot: 'src' },
    },
  },
})
