/** Endpoints of operators for tasks: list, and the end of those in the state `unknown`. */
import type { HostBase } from '../../../engine/plugin.ts'
import { ACCOUNT_BY_ID } from '../../credentials/statements.ts'
import { operatorParts } from '../../operator/contributions.ts'
import {
  any,
  boolean,
  described,
  fields,
  integer,
  list as listOf,
  nullable,
  number,
  object,
  oneOf,
  text,
  time,
} from '../../shapes.ts'
import { fault } from '../faults.ts'
import {
  type AdminCall,
  type AdminEndpoints,
  type AdminResult,
  bodyOf,
  choiceIn,
} from './endpoint.ts'

const taskPartOf = (host: HostBase) => {
  const { tasks } = operatorParts(host)
  if (!tasks) throw fault('ADMIN_NO_TASKS')
  return tasks
}
const STATES = 'accepted submitting submitted running unknown succeeded failed'.split(' ')

const list = async ({ query }: AdminCall, host: HostBase): Promise<AdminResult> => {
  const state = choiceIn(query, 'state', STATES, null)
  const rows = await taskPartOf(host).list(host, state)
  const ids = [...new Set(rows.map(({ account }) => Number(account)))]
  const accounts = await Promise.all(ids.map(id => host.database.read(ACCOUNT_BY_ID, [id])))
  const names = new Map(accounts.flat().map(({ id, name }) => [Number(id), String(name)]))
  return {
    data: rows.map(row => ({ ...row, account_name: names.get(Number(row.account)) ?? null })),
  }
}

const resolve = async ({ body }: AdminCall, host: HostBase): Promise<AdminResult> => {
  const part = taskPartOf(host)
  const id = String(body.task)
  const { state } = await part.show(host, id)
  const after =
    body.outcome === 'retry'
      ? await part.retry(host, id)
      : await part.resolve(host, id, body.outcome === 'charge')
  return { data: after, change: { before: { task: id, state: state ?? null }, after } }
}

const ROW = object({
  id: text,
  account: integer,
  account_name: nullable(text),
  model: text,
  state: oneOf(...STATES),
  held: described('Units of the currency.', text),
  created: time,
  upstream: text,
  upstream_id: text,
  error: text,
})
/** A task as it is stored. */
export const TASK = object(
  { id: text, account: integer, route: text, model: text, state: oneOf(...STATES), created: time },
  {
    key: nullable(integer),
    request: text,
    path: text,
    body: any,
    target: any,
    upstreamId: text,
    attempts: integer,
    failures: integer,
    progress: nullable(number),
    error: any,
    results: any,
    copies: any,
    isCopying: boolean,
    changed: time,
    deadline: time,
    expires: time,
    late: boolean,
    isCall: boolean,
    started: nullable(number),
    callback: any,
    callbacks: any,
    held: nullable(text),
  },
)

export const taskEndpoints: AdminEndpoints = {
  'GET tasks': {
    summary: 'Lists the latest tasks of all accounts, newest first.',
    query: { state: STATES.join(', ') },
    data: listOf(ROW),
    run: list,
  },
  'POST tasks/resolve': {
    summary:
      'Ends a task in the state unknown: charges it, releases its hold, or submits it again.',
    body: bodyOf(
      {
        task: { type: 'string', maxLength: 128 },
        outcome: {
          enum: ['charge', 'refund', 'retry'],
          description:
            'charge: the upstream ran it; refund: it did not; retry: submit it again, which may run it twice.',
        },
      },
      ['task', 'outcome'],
    ),
    data: fields,
    run: resolve,
  },
}
