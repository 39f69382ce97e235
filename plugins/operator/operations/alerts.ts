/** The operations on alerts. The plugin `alerts` does the work. */
import { EXIT } from '../../../engine/cli/kit.ts'
import { object } from '../../../engine/config/shape.ts'
import type { HostBase } from '../../../engine/plugin.ts'
import { ALERT_COLUMNS, ALERT_RULES, TEST_COLUMNS } from '../../rows/operations.ts'
import { list as listOf, object as row } from '../../shapes.ts'
import { type AlertPart, operatorParts } from '../contributions.ts'
import { fault } from '../faults.ts'
import { type Operation, operation } from '../operation.ts'

const partOf = (host: HostBase): AlertPart => {
  const { alerts } = operatorParts(host)
  if (!alerts) throw fault('ADMIN_NO_ALERTS')
  return alerts
}
const NOTHING = object(undefined, {})

const list = operation({
  name: 'alerts list',
  summary: 'Lists alerts: firing and pending ones, then those that ended in the last 30 days.',
  scope: 'operator',
  reads: true,
  arguments: NOTHING,
  result: listOf(row(ALERT_COLUMNS)),
  command: {
    example: 'tollgate alerts list',
    read: () => ({}),
    print: rows => ({ rows }),
  },
  run: async ({ host }) => ({ data: await partOf(host).list(host) }),
})

const rules = operation({
  name: 'alerts rules',
  summary: 'Shows every rule of alerts: its state, when it last fired and recovered.',
  scope: 'operator',
  reads: true,
  arguments: NOTHING,
  result: row(ALERT_RULES),
  command: {
    example: 'tollgate alerts rules',
    read: () => ({}),
    print: data => ({
      rows: data.rules.map(({ rule, state, firing, fired, recovered, waits }) => ({
        rule,
        state,
        firing,
        fired: fired ?? '-',
        recovered: recovered ?? '-',
        quiet: waits ? 'waits' : '-',
      })),
      json: data,
    }),
  },
  run: async ({ host }) => ({ data: await partOf(host).rules(host) }),
})

const test = operation({
  name: 'alerts test',
  summary: 'Sends a test message to every receiver of alerts, and shows what each answered.',
  scope: 'operator',
  arguments: NOTHING,
  result: listOf(row(TEST_COLUMNS)),
  command: {
    example: 'tollgate alerts test',
    read: () => ({}),
    print: rows => ({
      rows,
      exit: rows.some(({ state }) => state === 'failed') ? EXIT.runTime : EXIT.ok,
    }),
  },
  run: async context => ({ data: await partOf(context.host).test(context) }),
})

/** In the order of the help. */
export const alertOperations: readonly Operation[] = [list, rules, test]
