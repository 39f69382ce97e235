/** Plugin `alerts`: tells operators what goes wrong, once, and when it is over. It looks at
 *  counters and rows in the background; calls do nothing for it. */
import { object } from '../../engine/config/shape.ts'
import type { HostBase, Plugin } from '../../engine/plugin.ts'
import { checkMail, MAIL, mailSettingsOf } from '../webhooks/mail.ts'
import { emptyOutbox } from '../webhooks/outbox.ts'
import { sendBudgetAlerts } from './budgets.ts'
import { Monitor } from './monitor.ts'
import { commands, offerToOperators, sectionOf } from './operator-part.ts'
import { checkSection } from './problems.ts'
import { alertQueue } from './queue.ts'
import { SECTION, type Section } from './section.ts'
import { migrations } from './tables.ts'

/** ms until the job that sends messages is started again after it failed. */
const RESTART = 1_000

export default {
  schema: object(
    'Nothing to set: the section `alerts:` has rules and receivers.',
    {},
    { examples: [{}] },
  ).schema,
  default: {},
  hints: {
    'alerts.rules.budget': 'a budget sends the alerts of its `alert_at`, and none without it',
    'alerts.rules.balance':
      '`alerts.balances` lists the balances that are asked for; without it none is',
  },
  sections: { alerts: SECTION.schema, mail: MAIL.schema },
  // `meter` owns the charges that rules read.
  needs: ['meter'],
  migrations,
  commands,
  metrics: {
    alerts_total: 'Alerts that began (`firing`) or ended (`resolved`).',
    alert_attempts_total: 'Attempts to deliver messages of alerts, by outcome.',
    alert_messages_pending: 'Messages of alerts that are not delivered yet.',
  },
  check(document, report) {
    checkSection(document, report)
    checkMail(document, report)
  },
  setup(_, host) {
    offerToOperators(host)
    const section = sectionOf(host)
    if (section) startJobs(host, section)
    return {}
  },
} satisfies Plugin<object>

/** Every route registers the jobs; the engine runs one job of a name. */
const startJobs = (host: HostBase, section: Section): void => {
  const { database, log, metrics, send } = host
  const version = JSON.stringify(section)
  const monitor = host.share('alerts', version, () => new Monitor(section))
  host.job('alerts', section.every, async () => {
    await monitor.look(host)
    await sendBudgetAlerts(host, section)
  })
  const queue = alertQueue(host, section, mailSettingsOf(host))
  host.job('alert messages', RESTART, signal =>
    emptyOutbox({ database, log, metrics, send, queue }, signal),
  )
}
