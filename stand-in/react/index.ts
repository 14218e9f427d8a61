export { createChatController, createInMemoryMemory } from '../core/index.ts'
export { useChat } from './use-chat.ts'
