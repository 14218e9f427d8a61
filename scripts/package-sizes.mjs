import { promisify } from 'node:util'
import { brotliCompress } from 'node:zlib'
import { build } from 'vite'

/** What a page may pay for each entry, in bytes of minified and brotli-compressed code, with all that it imports but its peers. */
const LIMITS = [
  { entry: 'rejoin', file: 'dist/index.js', maxBytes: 16_000 },
  { entry: 'rejoin/react', file: 'dist/react/index.js', maxBytes: 3_000 },
]

const PEERS = /^(yjs|react)(\/|$)/
const compress = promisify(brotliCompress)

/** The sizes of the built package; `npm run build` comes first. */
export async function packageSizes() {
  const sizes = []
  for (const { entry, file, maxBytes } of LIMITS) sizes.push({ entry, bytes: await bundledBytes(file), maxBytes })
  return sizes
}

async function bundledBytes(file) {
  const [{ output }] = await build({
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      minify: true,
      lib: { entry: file, formats: ['es'] },
      rolldownOptions: { external: PEERS },
    },
  })
  const chunks = output.filter((it) => it.type === 'chunk').map((it) => compress(it.code))
  return (await Promise.all(chunks)).reduce((sum, it) => sum + it.byteLength, 0)
}

export function sizeLine({ entry, bytes, maxBytes }) {
  const kB = (count) => `${(count / 1000).toFixed(1)} kB`
  return `${entry}: ${kB(bytes)} brotli without peers (limit ${kB(maxBytes)})`
}
