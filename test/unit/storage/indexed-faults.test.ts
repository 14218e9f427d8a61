import 'fake-indexeddb/auto'
import { forceCloseDatabase } from 'fake-indexeddb'
import { createMemoryChannels } from '../../../src/storage/memory-channel.ts'
import { testIndexedFaults } from './indexed-faults.ts'

testIndexedFaults('fake-indexeddb', indexedDB, createMemoryChannels, (db) => forceCloseDatabase(db as never))
