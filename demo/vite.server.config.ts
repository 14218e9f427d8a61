import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'
import { aliases } from '../vite.aliases.ts'

/** The server of the demo, into `demo/server/dist/server.js`: our own sources in one file, packages as they are. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  resolve: { alias: aliases() },
  publicDir: false,
  build: {
    target: 'node20',
    ssr: 'server.ts',
    outDir: 'server/dist',
    emptyOutDir: true,
  },
})
