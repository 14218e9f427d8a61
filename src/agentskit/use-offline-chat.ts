import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { type ConnectChatOptions, type ConnectedChat, connectChat } from '../chat/connect-chat.ts'
import type { ChatConfig, ChatController } from '../contract/chat.ts'
import { isRejoinError } from '../errors.ts'
import type { ActionConfirmation } from '../session/action-confirmation.ts'
import { SessionConflictError } from '../session/session-conflict-error.ts'

/**
 * What AgentsKit's components take as their `chat`: the state and the actions of the controller. `approve` and `deny`
 * run an action once among all tabs and devices; what goes wrong with them is in `problem`, and they never reject.
 */
export type ChatOf<C extends ChatController> = ReturnType<C['getState']> &
  Omit<C, 'getState' | 'subscribe' | 'setMessages' | 'updateConfig' | 'approve' | 'deny'> & {
    readonly approve: (toolCallId: string) => Promise<void>
    readonly deny: (toolCallId: string, reason?: string) => Promise<void>
  }

export type OfflineChat<D extends ChatConfig, C extends ChatController> =
  | { readonly state: 'opening' }
  | { readonly state: 'failed'; readonly problem: unknown; readonly retry: () => void }
  | {
      readonly state: 'open'
      readonly chat: ChatOf<C>
      readonly connected: ConnectedChat<D, C>
      readonly confirmations: readonly ActionConfirmation[]
      /** Why the last decision did not come through; a decision that waits or that somebody else took is none. */
      readonly problem: unknown
      readonly dismissProblem: () => void
    }

type Opened<D extends ChatConfig, C extends ChatController> = Pick<ConnectChatOptions<D, C>, 'rejoin' | 'sessionId'> &
  ({ readonly connected: ConnectedChat<D, C>; readonly report: Report } | { readonly failure: unknown })

/** Shows a problem for as long as its chat is shown: what ends later is not the problem of the next one. */
type Report = (problem: unknown) => void

/**
 * The chat of one session, for as long as the component is mounted: it goes on where any tab or device left it, follows
 * them live, and decides each action once. `rejoin` and `sessionId` choose the chat; the other options are read when it
 * is opened and may be made anew in each render.
 */
export function useOfflineChat<D extends ChatConfig, C extends ChatController>(
  options: ConnectChatOptions<D, C>,
): OfflineChat<D, C> {
  const { rejoin, sessionId } = options
  const [latestOpened, setOpened] = useState<Opened<D, C>>()
  const [attempt, setAttempt] = useState(0)
  const [problem, setProblem] = useState<unknown>()
  const latest = useRef(options)
  latest.current = options

  // biome-ignore lint/correctness/useExhaustiveDependencies: a further attempt opens the same chat again.
  useEffect(() => {
    let mounted = true
    let close = () => {}
    const report: Report = (latestProblem) => {
      if (mounted) setProblem(latestProblem)
    }
    const onError = (error: unknown) => {
      report(error)
      latest.current.onError?.(error)
    }
    connectChat({ ...latest.current, rejoin, sessionId, onError }).then(
      (connected) => {
        if (!mounted) return connected.close()
        close = connected.close
        setOpened({ rejoin, sessionId, connected, report })
      },
      (failure: unknown) => mounted && setOpened({ rejoin, sessionId, failure }),
    )
    return () => {
      mounted = false
      close()
      setOpened(undefined)
      setProblem(undefined)
    }
  }, [rejoin, sessionId, attempt])

  // Of another session, until the effect has run for this one.
  const isCurrent = latestOpened?.rejoin === rejoin && latestOpened.sessionId === sessionId
  const opened = isCurrent ? latestOpened : undefined
  const retry = useCallback(() => setAttempt((before) => before + 1), [])
  const dismissProblem = useCallback(() => setProblem(undefined), [])
  const { connected, report } = opened && 'connected' in opened ? opened : {}
  const actions = useMemo(() => connected && actionsOf(connected.controller), [connected])
  const state = useSyncExternalStore(
    actions?.subscribe ?? subscribeToNothing,
    () => connected?.controller.getState(),
    () => undefined,
  )
  const confirmations = useSyncExternalStore(
    connected?.session.subscribe ?? subscribeToNothing,
    () => connected?.session.getConfirmations(),
    () => undefined,
  )
  const chat = useMemo(
    () => connected && actions && report && chatOf(connected, actions, report),
    [connected, actions, report],
  )

  return useMemo((): OfflineChat<D, C> => {
    if (opened && 'failure' in opened) return { state: 'failed', problem: opened.failure, retry }
    if (!connected || !chat || !state || !confirmations) return { state: 'opening' }
    return {
      state: 'open',
      chat: { ...chat, ...state } as ChatOf<C>,
      connected,
      confirmations,
      problem,
      dismissProblem,
    }
  }, [opened, connected, chat, state, confirmations, problem, retry, dismissProblem])
}

/** What a controller can do, with decisions that ask the others first. */
function chatOf<D extends ChatConfig, C extends ChatController>(
  { approve, deny }: ConnectedChat<D, C>,
  actions: C,
  report: Report,
) {
  async function decide(decision: () => Promise<unknown>): Promise<void> {
    report(undefined)
    try {
      await decision()
    } catch (error) {
      const shownByRecord = error instanceof SessionConflictError || isRejoinError(error, 'claim-queued')
      if (!shownByRecord) report(error)
    }
  }
  return {
    ...actions,
    approve: (toolCallId: string) => decide(() => approve(toolCallId)),
    deny: (toolCallId: string, reason?: string) => decide(() => deny(toolCallId, reason)),
  }
}

/** The controller's methods as functions of their own: they may be those of a class, and may need their `this`. */
function actionsOf<C extends ChatController>(controller: C): C {
  const actions: Record<string, unknown> = {}
  for (let from: object = controller; from && from !== Object.prototype; from = Object.getPrototypeOf(from)) {
    for (const name of Object.getOwnPropertyNames(from)) {
      if (name === 'constructor' || name in actions) continue
      const member: unknown = Reflect.get(controller, name)
      actions[name] = typeof member === 'function' ? member.bind(controller) : member
    }
  }
  return actions as unknown as C
}

function subscribeToNothing(): () => void {
  return () => {}
}
