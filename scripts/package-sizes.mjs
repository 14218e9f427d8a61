import { promisify } from 'node:util'
import { brotliCompress } from 'node:zlib'
import { build } from 'vite'

/**
 * What a page pays for each entry: bytes of minified and brotli-compressed code with all that it imports but its peers.
 * `maxBytes` may not be exceeded, `goalBytes` is where it should come down to.
 */
const LIMITS = [
  { entry: 'rejoin', file: 'dist/index.js', maxBytes: 64_000, goalBytes: 16_000 },
  { entry: 'rejoin/react', file: 'dist/react/index.js', maxBytes: 3_000, goalBytes: 3_000 },
  // With the session layer, which a page that imports `rejoin` as well has only once.
  { entry: 'rejoin/agentskit', file: 'dist/agentskit/index.js', maxBytes: 18_000, goalBytes: 10_000 },
]

export const SIZES_ARE = 'sizes: minified and brotli-compressed, with dependencies, without peers'

const PEERS = /^(yjs|react)(\/|$)/
const compress = promisify(brotliCompress)

/** The sizes of the built package; `npm run build` comes first. */
export async function packageSizes() {
  const sizes = []
  for (const { file, ...limit } of LIMITS) sizes.push({ ...limit, bytes: await bundledBytes(file) })
  return sizes
}

/** Bundled as an app would: the library mode of vite leaves white space in. */
async function bundledBytes(file) {
  const { output } = await build({
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      minify: true,
      target: 'es2023',
      modulePreload: false,
      rolldownOptions: { input: file, preserveEntrySignatures: 'strict', external: PEERS },
    },
  })
  const chunks = output.filter((it) => it.type === 'chunk').map((it) => compress(it.code))
  return (await Promise.all(chunks)).reduce((sum, it) => sum + it.byteLength, 0)
}

/** One line that says by itself whether the size is all right, and how much room is left. */
export function sizeLine({ entry, bytes, maxBytes, goalBytes }) {
  const left = maxBytes - bytes
  const verdict = left >= 0 ? `ok, ${kB(left)} below the limit` : `too large, ${kB(-left)} over the limit`
  const goal = goalBytes < maxBytes ? `, the goal is ${kB(goalBytes)}` : ''
  return `size of ${entry}: ${kB(bytes)} (${verdict} of ${kB(maxBytes)}${goal})`
}

/** Tenths would hide what little is over, or left. */
function kB(bytes) {
  return `${(bytes / 1000).toFixed(2)} kB`
}
