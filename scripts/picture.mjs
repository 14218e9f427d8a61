import { spawn } from 'node:child_process'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { build } from 'vite'
import { BROWSER_ARGS, findBrowser } from './find-browser.mjs'

// Takes the README's picture of the demo, `docs/demo.png`: both devices after they decided the same refund offline.

const SIZE = { width: 1280, height: 960 }
const root = fileURLToPath(new URL('..', import.meta.url))
const file = path.join(root, 'docs/demo.png')

for (const configFile of ['demo/vite.config.ts', 'demo/vite.server.config.ts']) {
  await build({ configFile: path.join(root, configFile), logLevel: 'error' })
}
const data = await mkdtemp(path.join(tmpdir(), 'rejoin-picture-'))
const server = spawn(process.execPath, [path.join(root, 'demo/server/dist/server.js')], {
  env: { ...process.env, PORT: '0', DATA: data },
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const browser = await chromium.launch({ executablePath: await findBrowser(), args: BROWSER_ARGS })
  try {
    await takePicture(browser, await addressOf(server))
  } finally {
    await browser.close()
  }
} finally {
  server.kill()
  await rm(data, { recursive: true, force: true })
}
console.log(`docs/demo.png: ${((await stat(file)).size / 1000).toFixed(0)} kB`)

/** The server says where it listens in its first line. */
async function addressOf({ stdout }) {
  for await (const line of createInterface(stdout)) return line.slice(line.indexOf('http'))
  throw new Error('The demo did not start.')
}

async function takePicture(browser, address) {
  const context = await browser.newContext({ viewport: SIZE, colorScheme: 'light', reducedMotion: 'reduce' })
  const page = await context.newPage()
  await page.goto(`${address}/?tokenMs=0`)
  const laptop = page.getByTestId('device-laptop')
  const phone = page.getByTestId('device-phone')
  const synced = (device) => device.locator('[data-testid=status][data-state=synced]').waitFor()

  await laptop.getByTestId('send-input').fill('My espresso machine arrived broken.')
  await laptop.getByTestId('send').click()
  await laptop.locator('[data-testid=message][data-role=assistant][data-status=complete]').waitFor()
  await laptop.getByTestId('command-refund').click()
  for (const device of [laptop, phone]) await device.getByTestId('approve').waitFor()
  for (const device of [laptop, phone]) await synced(device)

  for (const device of [laptop, phone]) await device.getByTestId('network-switch').click()
  await laptop.getByTestId('approve').click()
  await phone.getByTestId('reject').click()
  for (const device of [laptop, phone]) await device.locator('[data-state=queued]').waitFor()
  for (const device of [laptop, phone]) {
    await device.getByTestId('network-switch').click()
    await device.locator('[data-state=decided]').waitFor()
    await synced(device)
  }
  await page.getByTestId('refund-count').getByText('1').waitFor()
  await page.mouse.move(0, 0)
  await page.evaluate(() => document.activeElement?.blur())
  await page.screenshot({ path: file, animations: 'disabled' })
}
