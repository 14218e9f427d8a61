export { sessionStorageSuite } from './session-storage-suite.ts'
