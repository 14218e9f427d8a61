import { execFile } from 'node:child_process'
import { access, chmod, constants, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Flags that a headless browser needs in a container, and that keep it from reaching for its maker's hosts. */
export const BROWSER_ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
]

const SYSTEM_NAMES = ['google-chrome', 'google-chrome-stable', 'chromium', 'chromium-browser', 'chrome']
const SYSTEM_PATHS = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
  'C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe',
]

const root = fileURLToPath(new URL('..', import.meta.url))
const run = promisify(execFile)

/**
 * The executable of a Chromium: `CHROMIUM_PATH`, else a Chrome or Chromium of the system, else the one that comes with
 * the npm packages (Linux on x64). Rejects with what to do about it where there is none.
 */
export async function findBrowser() {
  const chosen = process.env.CHROMIUM_PATH
  if (chosen) {
    if (await isExecutable(chosen)) return chosen
    throw new Error(`CHROMIUM_PATH names ${chosen}, which is not an executable file.`)
  }
  const folders = (process.env.PATH ?? '').split(path.delimiter)
  const candidates = [
    ...folders.flatMap((folder) => SYSTEM_NAMES.map((name) => path.join(folder, name))),
    ...SYSTEM_PATHS,
  ]
  for (const candidate of candidates) if (await isExecutable(candidate)) return candidate
  if (process.platform === 'linux' && process.arch === 'x64') return bundledBrowser()
  throw new Error('No Chrome or Chromium was found. Install one, or set CHROMIUM_PATH to the executable of one.')
}

/** Unpacks the browser of `@sparticuz/chromium` once per install, and starts it with its own libraries where the system lacks them. */
async function bundledBrowser() {
  const manifest = await readFile(path.join(root, 'node_modules/@sparticuz/chromium/package.json'), 'utf8')
  const folder = path.join(root, 'node_modules/.cache', `chromium-${JSON.parse(manifest).version}`)
  const executable = path.join(folder, 'chromium')
  if (!(await isExecutable(executable))) await unpack(folder)
  return (await lacksLibraries(executable)) ? withOwnLibraries(folder) : executable
}

/**
 * The package unpacks into the folder for temporary files, and takes a half-written browser for a whole one. So it gets
 * a folder of its own, which takes its final name in one step: whoever starts at the same time sees all or nothing.
 */
async function unpack(folder) {
  await mkdir(path.dirname(folder), { recursive: true })
  const partial = await mkdtemp(`${folder}-`)
  try {
    // In the environment of a cloud function the package unpacks the shared libraries too.
    const env = { ...process.env, TMPDIR: partial, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs20.x' }
    const script = "import('@sparticuz/chromium').then((it) => it.default.executablePath())"
    await run(process.execPath, ['-e', script], { cwd: root, env })
    await rename(partial, folder)
  } catch (error) {
    if (!(await isExecutable(path.join(folder, 'chromium')))) throw error
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
}

/** False where it cannot be told: the browser itself will say what it misses. */
async function lacksLibraries(executable) {
  return run('ldd', [executable]).then(
    ({ stdout }) => stdout.includes('not found'),
    () => false,
  )
}

async function withOwnLibraries(folder) {
  const starter = path.join(folder, 'chromium-with-libraries')
  if (await isExecutable(starter)) return starter
  const fonts = path.join(folder, 'fonts')
  await writeFile(path.join(fonts, 'rejoin.conf'), `<fontconfig><dir>${fonts}</dir></fontconfig>\n`)
  const lines = [
    '#!/bin/sh',
    'here=$(dirname "$0")',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own expansion
    'export LD_LIBRARY_PATH="$here/al2023/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"',
    '[ -d /etc/fonts ] || export FONTCONFIG_FILE="$here/fonts/rejoin.conf"',
    'exec "$here/chromium" "$@"',
    '',
  ]
  const partial = `${starter}-${process.pid}`
  await writeFile(partial, lines.join('\n'))
  await chmod(partial, 0o755)
  await rename(partial, starter)
  return starter
}

function isExecutable(file) {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  )
}
