export { type ChatOf, type OfflineChat, useOfflineChat } from './use-offline-chat.ts'
