import { browserEnvironment } from '../../../src/browser-environment.ts'
import { testDatabase } from '../../unit/storage/database-conformance.ts'
import { indexedDevice } from '../../unit/storage/indexed-device.ts'

const { openChannel } = browserEnvironment()

testDatabase('IndexedDB', async () => indexedDevice(indexedDB, openChannel))
