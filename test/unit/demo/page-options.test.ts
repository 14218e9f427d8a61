import { expect, test } from 'vitest'
import { readPageOptions } from '../../../demo/src/page-options.ts'

const options = (query: string) => readPageOptions(new URL(`http://localhost:8787/${query}`))

test('without parameters there are two devices, each with a realm of its own, and the server of the page', () => {
  expect(options('')).toEqual({
    devices: [
      { name: 'laptop', label: 'Laptop', realm: 'laptop' },
      { name: 'phone', label: 'Phone', realm: 'phone' },
    ],
    sessionId: 'first-chat',
    serverUrl: 'http://localhost:8787',
    online: true,
    tokenMs: 45,
    refundDelayMs: 0,
  })
})

test('one device has the realm of its name, so that it is the same device on both pages, or the realm that is asked', () => {
  expect(options('?device=phone').devices).toEqual([{ name: 'phone', label: 'Phone', realm: 'phone' }])
  expect(options('?device=phone&realm=r1').devices[0]?.realm).toBe('r1')
  expect(options('?realm=r1').devices.map((device) => device.realm)).toEqual(['r1-laptop', 'r1-phone'])
  expect(options('?device=tablet').devices).toHaveLength(2)
})

test('the rest of the parameters is read, and nonsense falls back', () => {
  expect(options('?server=none&network=off&session=desk&refund=slow&tokenMs=5')).toMatchObject({
    serverUrl: undefined,
    online: false,
    sessionId: 'desk',
    refundDelayMs: 4000,
    tokenMs: 5,
  })
  expect(options('?tokenMs=fast').tokenMs).toBe(45)
  expect(options('?tokenMs=-1').tokenMs).toBe(0)
  expect(options('?tokenMs=1e9').tokenMs).toBe(5000)
})
