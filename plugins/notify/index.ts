/** Tells customers that their balance is low: their settings, a test, and the work behind them. */
import type { Exchange, Host, Json, Plugin } from '../../engine/plugin.ts'
import { ACCOUNT } from '../slots.ts'
import { emptyOutbox } from '../webhooks/outbox.ts'
import { commands } from './commands.ts'
import { moveCrossings } from './crossings.ts'
import { type Change, saveSettings, showDelivery, showSettings } from './settings.ts'
import { migrations } from './tables.ts'
import { tryDelivery } from './test-delivery.ts'

type Action = 'show' | 'save' | 'test'

export default {
  schema: {
    description: 'What the route does with the settings of the low-balance webhook.',
    enum: ['show', 'save', 'test'],
    examples: ['show'],
  },
  // The account whose settings they are.
  after: ['auth'],
  // The balances that it watches.
  needs: ['meter'],
  migrations,
  commands,
  setup(action, host) {
    registerJob(host)
    const act = ACTIONS[action]
    return {
      answers: true,
      async handle(exchange) {
        const { id } = exchange.slots.need(ACCOUNT)
        exchange.answer(200, await act(id, exchange, host))
      },
      explain: () => action,
    }
  },
} satisfies Plugin<Action>

const success = (shown: Json): Json => ({ success: true, message: '', data: shown })

type ActionHandler = (account: number, exchange: Exchange, host: Host) => Promise<Json>
const ACTIONS: Readonly<Record<Action, ActionHandler>> = {
  show: async (account, _, { database }) => success(await showSettings(database, account)),
  async save(account, { request }, host) {
    const change = (await request.json()) as Change
    const secret = await saveSettings(host.database, account, change, host)
    return success(await showSettings(host.database, account, secret))
  },
  async test(account, _, { database }) {
    const tried = showDelivery(await tryDelivery(database, account))
    const message = tried.state === 'pending' ? 'It waits for its turn.' : tried.message
    return { success: tried.state !== 'failed', message, data: tried }
  },
}

/** Every route asks for it; of one name only one runs. */
const registerJob = (host: Host): void => {
  const refill = async (): Promise<void> => {
    const moved = await moveCrossings(host.database)
    if (moved > 0) host.metrics.count('webhook_events_total', {}, moved)
  }
  host.job('webhooks', 1_000, signal => emptyOutbox({ ...host, refill }, signal))
}
