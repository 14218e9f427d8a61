import type { AdapterFactory, ToolDefinition } from '@agentskit/core'
import { commandRoute, defineChat } from 'rejoin'

export interface RefundDeskOptions {
  readonly adapter: AdapterFactory
  /** Runs the refund and says in one sentence what happened. */
  readonly refund: (input: RefundInput) => Promise<string>
}

export interface RefundInput {
  readonly refundId: string
  readonly order: string
  readonly euros: number
}

export const REFUND_TOOL = 'refund'

const HELP = [
  '/help shows this list.',
  '/order starts an order, then /confirm places it or /cancel drops it.',
  '/refund prepares a refund, which runs once you approve it.',
  'All of these are answered by rules, offline too. Anything else goes to the model.',
].join('\n')

/** The chat of the demo: an order in two steps and a refund that a person confirms. */
export function refundDesk({ adapter, refund }: RefundDeskOptions) {
  return defineChat({
    id: 'refund-desk',
    revision: 1,
    chat: { adapter, tools: [refundTool(refund)] },
    conversation: {
      initial: 'browsing',
      states: {
        browsing: { on: { helped: 'browsing', ordered: 'ordering', asked: 'browsing' } },
        ordering: {
          on: { helped: 'ordering', confirmed: 'placed', cancelled: 'browsing', asked: 'ordering' },
          actions: ['/confirm', '/cancel'],
        },
        placed: { on: { helped: 'placed', ordered: 'ordering', asked: 'placed' } },
      },
      routes: [
        commandRoute({ id: 'help', event: 'helped', command: '/help', response: () => HELP }),
        commandRoute({
          id: 'order',
          event: 'ordered',
          command: '/order',
          response: () => 'One espresso machine, 25 €. Place the order with /confirm, or drop it with /cancel.',
        }),
        commandRoute({
          id: 'confirm',
          event: 'confirmed',
          command: '/confirm',
          response: () => 'Your order is placed. If you change your mind, ask for a /refund.',
        }),
        commandRoute({
          id: 'cancel',
          event: 'cancelled',
          command: '/cancel',
          response: () => 'The order is dropped.',
        }),
        commandRoute({
          id: 'refund',
          event: 'asked',
          command: '/refund',
          response: () => 'A refund of 25 € is prepared. It runs once somebody approves it, on any device.',
        }),
      ],
    },
  })
}

function refundTool(refund: RefundDeskOptions['refund']): ToolDefinition {
  return {
    name: REFUND_TOOL,
    description: 'Pays the price of an order back.',
    requiresConfirmation: true,
    execute: async ({ refundId, order, euros }) =>
      refund({ refundId: String(refundId), order: String(order), euros: Number(euros) }),
  }
}
