import { createMemoryLocks } from '../../../src/storage/memory-locks.ts'
import { testLocks } from './locks-conformance.ts'

const locks = createMemoryLocks()

testLocks('memory', () => locks)
