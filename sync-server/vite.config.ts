import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const at = (file: string) => fileURLToPath(new URL(file, import.meta.url))

/** For Node: what the server shares with the client is bundled in, what it depends on is not. */
export default defineConfig({
  root: at('.'),
  build: {
    ssr: true,
    target: 'node20',
    outDir: at('./dist'),
    emptyOutDir: true,
    minify: false,
    sourcemap: true,
    rollupOptions: {
      input: { index: at('./src/index.ts'), main: at('./src/main.ts') },
      output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
    },
  },
})
