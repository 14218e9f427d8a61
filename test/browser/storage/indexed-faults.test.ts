import { browserEnvironment } from '../../../src/browser-environment.ts'
import { testIndexedFaults } from '../../unit/storage/indexed-faults.ts'

testIndexedFaults(
  'IndexedDB',
  indexedDB,
  () => browserEnvironment().openChannel,
  (db) => {
    db.close()
    db.dispatchEvent(new Event('close')) // what a page sees of it; to make it really happen, the profile must be cleared
  },
)
