/** Plugin `notify`: low-balance webhooks and mails with settings, a test delivery and the sending
 *  jobs. */
import { oneOf, type RawOf } from '../../engine/config/shape.ts'
import type { Exchange, Host, Json, Plugin } from '../../engine/plugin.ts'
import { accountFor } from '../credentials/members.ts'
import { withKnownParameters } from '../schema/known-parameters.ts'
import type { TestDelivery } from '../views.ts'
import { mailSettingsOf } from '../webhooks/mail.ts'
import { emptyOutbox } from '../webhooks/outbox.ts'
import { ABOUT } from './about.ts'
import { commands } from './commands.ts'
import { moveCrossings } from './crossings.ts'
import { mailQueue } from './mail-queue.ts'
import { type Change, saveSettings, showDelivery, showSettings } from './settings.ts'
import { migrations } from './tables.ts'
import { tryDelivery } from './test-delivery.ts'

const ACTION = oneOf(
  'The action of the route on the settings of the low-balance webhook.',
  ['show', 'save', 'test'],
  { examples: ['show'] },
)
type Action = RawOf<typeof ACTION>

export default {
  schema: ACTION.schema,
  // `auth` sets the account.
  after: ['auth'],
  // `meter` owns the balances.
  needs: ['meter'],
  migrations,
  commands,
  metrics: {
    webhook_attempts_total: 'Attempts to deliver webhooks, by outcome.',
    webhook_events_total: 'Low-balance events that were put into the outbox.',
    webhook_pending: 'Events not yet delivered, including those between attempts.',
    webhook_oldest_seconds: 'How long the oldest pending event is overdue.',
    account_mail_attempts_total: 'Attempts to deliver mails to accounts, by outcome.',
    account_mails_pending: 'Mails to accounts that are not delivered yet.',
  },
  setup(action, host) {
    registerJob(host)
    const act = ACTIONS[action]
    return {
      answers: true,
      describe: () => ABOUT[action],
      handle: withKnownParameters(ABOUT[action], async exchange => {
        const account = accountFor(exchange, action === 'show' ? 'read' : 'manage')
        exchange.answer(200, await act(account.id, exchange, host))
      }),
      explain: () => action,
    }
  },
} satisfies Plugin<Action>

const successBody = (data: Json): Json => ({ success: true, message: '', data })

type ActionHandler = (account: number, exchange: Exchange, host: Host) => Promise<Json>
const ACTIONS: Readonly<Record<Action, ActionHandler>> = {
  show: async (account, _, host) => successBody(await showSettings(host, account)),
  async save(account, { request }, host) {
    const change = (await request.json()) as Change
    const secret = await saveSettings(host.database, account, change, host)
    return successBody(await showSettings(host, account, secret))
  },
  async test(account, _, { database }) {
    const delivery = showDelivery(await tryDelivery(database, account))
    const message =
      delivery.state === 'pending' ? 'Not sent yet: the delivery is queued.' : delivery.message
    return { success: delivery.state !== 'failed', message, data: delivery } satisfies TestDelivery
  },
}

/** Every route registers the job; the engine runs one job of a name. */
const registerJob = (host: Host): void => {
  const refill = async (): Promise<void> => {
    const eventCount = await moveCrossings(host.database)
    if (eventCount > 0) host.metrics.count('webhook_events_total', {}, eventCount)
  }
  host.job('webhooks', 1_000, signal => emptyOutbox({ ...host, refill }, signal))
  const mail = mailSettingsOf(host)
  if (!mail) return
  const queue = mailQueue(host, mail)
  host.job('account mails', 1_000, signal => emptyOutbox({ ...host, queue }, signal))
}
