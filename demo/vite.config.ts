import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'
import { aliases } from '../vite.aliases.ts'

/** The page of the demo, into `demo/dist`. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  resolve: { alias: aliases(), dedupe: ['yjs', 'react', 'react-dom'] },
  // `npm run dev`, beside an `npm start` whose server it talks to.
  server: {
    host: '127.0.0.1',
    proxy: { '/v1': { target: 'http://127.0.0.1:8787', ws: true }, '/demo': 'http://127.0.0.1:8787' },
  },
  build: {
    target: 'es2023',
    emptyOutDir: true,
    // Every browser that the page runs in has it, and the polyfill would be one more script.
    modulePreload: { polyfill: false },
    // One file is what a demo from localhost needs; half of it is React and Yjs.
    chunkSizeWarningLimit: 800,
  },
})
