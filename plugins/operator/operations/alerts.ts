/** The operations on alerts. The plugin `alerts` does the work. */
import { EXIT } from '../../../engine/cli/kit.ts'
import { object } from '../../../engine/config/shape.ts'
import { ALERT_COLUMNS, ALERT_RULES, TEST_COLUMNS } from '../../rows/operations.ts'
import { list as listOf, object as row } from '../../shapes.ts'
import { partOf } from '../contributions.ts'
import { type Operation, operation } from '../operation.ts'

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
  },
  run: async ({ host }) => ({ data: await partOf(host, 'alerts').list(host) }),
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
  run: async ({ host }) => ({ data: await partOf(host, 'alerts').rules(host) }),
})

const test = operation({
  name: 'alerts test',
  summary: 'Sends a test message to every receiver of alerts, and shows what each answered.',
  scope: 'operator',
  arguments: NOTHING,
  result: listOf(row(TEST_COLUMNS)),
  command: {
    example: 'tollgate alerts test',
    print: rows => ({
      rows,
      exit: rows.some(({ state }) => state === 'failed') ? EXIT.runTime : EXIT.ok,
    }),
  },
  run: async context => ({ data: await partOf(context.host, 'alerts').test(context) }),
})

/** In the order of the help. */
export const alertOperations: readonly Operation[] = [list, rules, test]
