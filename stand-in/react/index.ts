export { createChatController } from '../core/create-chat-controller.ts'
export { createInMemoryMemory } from '../core/create-in-memory-memory.ts'
export { useChat } from './use-chat.ts'
