import { afterEach, expect, test, vi } from 'vitest'
import { findBrowser } from '../../../scripts/find-browser.mjs'

afterEach(() => vi.unstubAllEnvs())

test('CHROMIUM_PATH decides which browser the tests use', async () => {
  vi.stubEnv('CHROMIUM_PATH', process.execPath)
  await expect(findBrowser()).resolves.toBe(process.execPath)
})

test('a CHROMIUM_PATH that is not an executable is refused and not replaced by another browser', async () => {
  vi.stubEnv('CHROMIUM_PATH', '/nowhere/chromium')
  await expect(findBrowser()).rejects.toThrow('CHROMIUM_PATH names /nowhere/chromium')
})
