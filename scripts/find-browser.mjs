import { access, constants } from 'node:fs/promises'
import path from 'node:path'

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

/** `CHROMIUM_PATH`, else a Chrome or Chromium of the system, else the one that comes with the npm packages (Linux). */
export async function findBrowser() {
  if (process.env.CHROMIUM_PATH) return process.env.CHROMIUM_PATH
  const folders = (process.env.PATH ?? '').split(path.delimiter)
  const candidates = [
    ...folders.flatMap((folder) => SYSTEM_NAMES.map((name) => path.join(folder, name))),
    ...SYSTEM_PATHS,
  ]
  for (const candidate of candidates) if (await isExecutable(candidate)) return candidate
  const { default: bundled } = await import('@sparticuz/chromium')
  return bundled.executablePath()
}

function isExecutable(file) {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  )
}
