import { createMemoryChannels } from '../../../src/storage/memory-channel.ts'
import { testChannels } from './channel-conformance.ts'

testChannels('memory', createMemoryChannels())
