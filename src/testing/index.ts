export { chatMemorySuite } from './chat-memory-suite.ts'
export { sessionStorageSuite } from './session-storage-suite.ts'
