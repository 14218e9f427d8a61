import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react'
import type { ChatConfig, ChatController, ChatReturn } from '../core/chat-config.ts'
import { createChatController } from '../core/create-chat-controller.ts'

/** One controller per mount; the configuration follows in an effect, and the unmount stops what streams. */
export function useChat(config: ChatConfig): ChatReturn {
  const made = useRef<ChatController>(undefined)
  made.current ??= createChatController(config)
  const controller = made.current
  const state = useSyncExternalStore(controller.subscribe, controller.getState, controller.getState)
  useEffect(() => controller.updateConfig(config), [controller, config])
  useEffect(() => () => controller.stop(), [controller])
  return useMemo(() => {
    const { send, stop, retry, edit, regenerate, setInput, clear, proposeToolCall, approve, deny } = controller
    return { ...state, send, stop, retry, edit, regenerate, setInput, clear, proposeToolCall, approve, deny }
  }, [controller, state])
}
