import 'fake-indexeddb/auto'
import { createMemoryChannels } from '../../../src/storage/memory-channel.ts'
import { testDatabase } from './database-conformance.ts'
import { indexedDevice } from './indexed-device.ts'

testDatabase('fake-indexeddb', async () => indexedDevice(indexedDB, createMemoryChannels()))
