import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'
import { aliases } from '../vite.aliases.ts'

/** Of the `npm start` that `npm run dev` works beside; it says if it took another port than it was asked for. */
const server = `http://127.0.0.1:${process.env.PORT || 8787}`

/** The page of the demo, into `demo/dist`. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  resolve: { alias: aliases(), dedupe: ['yjs', 'react', 'react-dom'] },
  server: {
    host: '127.0.0.1',
    proxy: { '/v1': { target: server, ws: true }, '/demo': server },
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
