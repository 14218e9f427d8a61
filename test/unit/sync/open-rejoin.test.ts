import { expect, test } from 'vitest'
import { createTestDevice } from './device.ts'

test('a server address that is none is refused before anything is opened', async () => {
  for (const serverUrl of ['not a url', 'ftp://sync.example.com', '']) {
    await expect(createTestDevice('laptop', serverUrl).open()).rejects.toMatchObject({ code: 'refused' })
  }
})

test('a session id that could leave its path is refused before any request', async () => {
  const device = createTestDevice('laptop', undefined)
  const rejoin = await device.open()
  for (const sessionId of ['../other', 'a b', '', '/x']) {
    expect(() => rejoin.memory(sessionId)).toThrow(expect.objectContaining({ code: 'refused' }))
    expect(() => rejoin.messages(sessionId)).toThrow(expect.objectContaining({ code: 'refused' }))
  }
  await device.close()
})
