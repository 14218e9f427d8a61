import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'
import { aliases } from '../../../vite.aliases.ts'

/** The page that the end-to-end tests drive, into `test/e2e/harness/dist`. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  resolve: { alias: aliases(), dedupe: ['yjs'] },
  build: { target: 'es2023', minify: false, emptyOutDir: true, modulePreload: { polyfill: false } },
})
