import type { AdapterFactory, AdapterRequest, ChatConfig, StreamSource } from '../contract/chat.ts'
import type { ToolDecisionStore } from '../contract/tool-decision-store.ts'

/** Wrapped adapter → the adapter of the host. */
const hostAdapters = new WeakMap<AdapterFactory, AdapterFactory>()
const sessionStores = new WeakSet<ToolDecisionStore>()

export interface ChatWrapping {
  readonly createSource: (adapter: AdapterFactory, request: AdapterRequest) => StreamSource
  readonly decisionStore: ToolDecisionStore
}

/**
 * A chat configuration with its adapter wrapped, the session's store of decisions where the host gives none, and
 * everything else as it is. A configuration that was wrapped before, by whichever session, is wrapped anew and not once
 * more.
 */
export function wrapChat<C extends ChatConfig>(chat: C, { createSource, decisionStore }: ChatWrapping): C {
  const host = hostAdapters.get(chat.adapter) ?? chat.adapter
  const { createSourceForSession: _, ...rest } = host
  const adapter: AdapterFactory = { ...rest, createSource: (request) => createSource(host, request) }
  hostAdapters.set(adapter, host)
  sessionStores.add(decisionStore)
  const given = chat.decisionStore
  return { ...chat, adapter, decisionStore: given && !sessionStores.has(given) ? given : decisionStore }
}

/** The model's own stream for a request that no route took. */
export function hostSource(adapter: AdapterFactory, request: AdapterRequest, sessionId: string): StreamSource {
  return adapter.createSourceForSession?.(request, sessionId) ?? adapter.createSource(request)
}
