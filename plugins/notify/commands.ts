/** The command `tollgate webhooks`: lists events and sends them again. */
import { UsageError } from '../../engine/cli/kit.ts'
import { errors } from '../../engine/errors.ts'
import type { Command, Row, SingleCommand } from '../../engine/plugin.ts'
import { hostOf } from '../webhooks/address.ts'
import { ATTEMPTS } from '../webhooks/schedule.ts'
import { FIND, LIST, replay } from '../webhooks/statements.ts'
import { showDelivery } from './settings.ts'

const fault = errors({
  EVENT_UNKNOWN: [404, 'Unknown event "%s"; `tollgate webhooks list` shows the last events'],
  EVENT_UNWANTED: [
    409,
    'Event "%s" has no receiver: its account has no webhook URL, or the receiver answered 410; save the URL again',
  ],
})
const MAX_EVENTS = 100
const STATES: readonly unknown[] = ['pending', 'delivered', 'failed']

const verbs: Readonly<Record<string, SingleCommand>> = {
  list: {
    summary: 'Lists the last events, newest first.',
    example: 'tollgate webhooks list --state failed',
    options: {
      state: {
        type: 'string',
        value: 'STATE',
        summary: 'only pending, delivered or failed events',
      },
    },
    async run({ values }, { database }) {
      const { state = null } = values
      if (state !== null && !STATES.includes(state))
        throw new UsageError(`--state must be one of ${STATES.join(', ')}`)
      const stateFilter = state === null ? null : String(state)
      const rows = await database.read(LIST, [stateFilter, stateFilter, MAX_EVENTS])
      return { rows: rows.map(rowOf) }
    },
  },
  replay: {
    arguments: 'ID',
    summary: 'Sends an event again.',
    example: 'tollgate webhooks replay msg_0123',
    async run({ positionals: [id = ''] }, { database }) {
      const [event] = await database.read(FIND, [id])
      if (!event) throw fault('EVENT_UNKNOWN', [id])
      await database.write([replay(id, ATTEMPTS, await database.now())]).catch(error => {
        throw error.code === 'NO_ENDPOINT' ? fault('EVENT_UNWANTED', [id]) : error
      })
      const [after = event] = await database.read(FIND, [id])
      return { rows: [rowOf(after)] }
    },
  },
}
const rowOf = (row: Row) => {
  const { id, state, attempts, created, next, message } = showDelivery(row)
  return {
    id,
    account: Number(row.endpoint),
    receiver: hostOf(String(row.url ?? '')),
    state,
    attempts,
    created,
    next: next ?? '',
    last: message,
  }
}

export const commands: Readonly<Record<string, Command>> = {
  webhooks: { summary: 'Shows webhook events and sends them again.', subcommands: verbs },
}
