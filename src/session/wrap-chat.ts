import type { AdapterFactory, AdapterRequest, ChatConfig, StreamSource } from '../contract/chat.ts'

/** Wrapped adapter → the adapter of the host. */
const hostAdapters = new WeakMap<AdapterFactory, AdapterFactory>()

/**
 * A chat configuration with its adapter wrapped and everything else as it is. A configuration that was wrapped before,
 * by whichever session, is wrapped anew and not once more.
 */
export function wrapChat<C extends ChatConfig>(
  chat: C,
  createSource: (adapter: AdapterFactory, request: AdapterRequest) => StreamSource,
): C {
  const host = hostAdapters.get(chat.adapter) ?? chat.adapter
  const { createSourceForSession: _, ...rest } = host
  const adapter: AdapterFactory = { ...rest, createSource: (request) => createSource(host, request) }
  hostAdapters.set(adapter, host)
  return { ...chat, adapter }
}

/** The model's own stream for a request that no route took. */
export function hostSource(adapter: AdapterFactory, request: AdapterRequest, sessionId: string): StreamSource {
  return adapter.createSourceForSession?.(request, sessionId) ?? adapter.createSource(request)
}
