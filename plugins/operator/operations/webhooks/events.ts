/** The operations on the events of webhooks. */
import { textOf, UsageError } from '../../../../engine/cli/kit.ts'
import { object, required, text } from '../../../../engine/config/shape.ts'
import { findAccount } from '../../../credentials/find.ts'
import { EVENT_COLUMNS } from '../../../rows/work.ts'
import { list as listOf, object as row } from '../../../shapes.ts'
import type { DeliveryRow } from '../../../views.ts'
import { lastMessage } from '../../../webhooks/delivery.ts'
import { ATTEMPTS } from '../../../webhooks/schedule.ts'
import { replay } from '../../../webhooks/statements.ts'
import { fault } from '../../faults.ts'
import { type Operation, operation } from '../../operation.ts'
import { whenCode } from '../../rows.ts'
import { EVENT_QUERY, EVENT_STATES, eventsPage, findEvent } from '../../webhook-events.ts'

const rowOf = ({ account_name: _, last: _l, outcome, status, ...event }: DeliveryRow) => ({
  ...event,
  last: lastMessage({ outcome, status }),
})

const list = operation({
  name: 'webhooks list',
  summary: 'Lists the last events, newest first.',
  scope: 'operator',
  reads: true,
  earlier: 'GET deliveries',
  arguments: EVENT_QUERY,
  result: listOf(row(EVENT_COLUMNS)),
  command: {
    example: 'tollgate webhooks list --state failed',
    options: {
      state: {
        type: 'string',
        value: 'STATE',
        summary: 'only pending, delivered or failed events',
      },
    },
    isFirstPage: true,
    read({ values }) {
      const word = textOf(values.state)
      const state = EVENT_STATES.find(each => each === word)
      if (word !== undefined && !state)
        throw new UsageError(`--state must be one of ${EVENT_STATES.join(', ')}`)
      return state ? { state } : {}
    },
    print: events => ({ rows: events.map(rowOf) }),
  },
  async run({ store }, query) {
    const { account } = query
    return eventsPage(store, account ? (await findAccount(store, account)).id : null, query)
  },
})

const sendAgain = operation({
  name: 'webhooks replay',
  summary: 'Sends an event again.',
  scope: 'operator',
  earlier: 'POST deliveries/replay',
  arguments: object(undefined, {
    event: required(text('The id of the event.', { maxLength: 128 })),
  }),
  result: row(EVENT_COLUMNS),
  command: {
    arguments: 'ID',
    example: 'tollgate webhooks replay msg_0123',
    print: event => ({ rows: [rowOf(event)] }),
  },
  async run({ store, now }, { event: id }) {
    const before = await findEvent(store, id)
    if (!before) throw fault('EVENT_UNKNOWN', [id.slice(0, 64)])
    const { state, attempts } = before
    await store
      .change([replay(id, ATTEMPTS, now)], {
        object: `event ${id}`,
        before: { state, attempts },
        after: { state: 'pending' },
      })
      .catch(whenCode('NO_ENDPOINT', () => fault('EVENT_UNWANTED', [id])))
    return { data: (await findEvent(store, id)) ?? before }
  },
})

/** In the order of the help. */
export const eventOperations: readonly Operation[] = [list, sendAgain]
