/** The command `tollgate tasks`: shows tasks, and decides those whose fate is unknown. */
import { UsageError } from '../../engine/cli/kit.ts'
import { errors } from '../../engine/errors.ts'
import type { Command, HostBase, Row, SingleCommand } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { hostOf } from '../webhooks/address.ts'
import { announce, CALLBACKS_OF } from './callbacks.ts'
import { closeHold } from './runner.ts'
import {
  endIdleTask,
  FIND_ANY,
  LIST_ANY,
  PAUSES,
  pauseUpstream,
  resumeUpstream,
  retryIdleTask,
} from './statements.ts'
import { TASK_ERRORS, type Task, taskOf } from './task.ts'

const fault = errors({
  TASK_UNKNOWN: [404, 'Unknown task "%s"; `tollgate tasks list` shows the latest tasks'],
  TASK_UPSTREAM_UNKNOWN: [404, 'Unknown upstream "%s"; the configuration has %s'],
  TASK_DECIDED: [
    409,
    'Task "%s" is %s; only a task in the state %s can be decided in this way. `tollgate tasks show %s` shows it',
  ],
})
const findUpstream = ({ upstreams }: HostBase, name: string): string => {
  if (Object.hasOwn(upstreams, name)) return name
  throw fault('TASK_UPSTREAM_UNKNOWN', [name, Object.keys(upstreams).join(', ')])
}
const readPauses = async ({ database }: HostBase) => ({
  rows: (await database.read(PAUSES, [])).map(({ upstream, since, waiting }) => ({
    upstream: String(upstream),
    since: timeOf(Number(since)),
    waiting: Number(waiting),
  })),
})
const MAX_TASKS = 100
const STATES = 'accepted submitting submitted running unknown succeeded failed'.split(' ')

const findTask = async ({ database }: HostBase, id: string): Promise<Task> => {
  const [row] = await database.read(FIND_ANY, [id])
  if (!row) throw fault('TASK_UNKNOWN', [id])
  return taskOf(row)
}
const decide = async (
  host: HostBase,
  task: Task,
  states: readonly string[],
  end: 'succeeded' | 'failed',
  code?: string,
) => {
  if (!states.includes(task.state))
    throw fault('TASK_DECIDED', [task.id, task.state, states.join(' or '), task.id])
  const error = code === undefined ? undefined : { code, message: 'an operator decided it' }
  const now = Date.now()
  const after = { ...task, state: end, error: error ?? task.error }
  await writeWithRetry(host.database, [
    endIdleTask(task, end, error, now),
    ...announce(task.state, after, host, now),
    ...closeHold(task, end),
  ])
  return { rows: [rowOf(await findTask(host, task.id))] }
}

const subcommands: Readonly<Record<string, SingleCommand>> = {
  list: {
    summary: 'Lists the latest tasks, newest first.',
    example: 'tollgate tasks list --state unknown',
    options: {
      state: {
        type: 'string',
        value: 'STATE',
        summary: `only tasks that are ${STATES.join(', ')}`,
      },
    },
    async run({ values }, { database }) {
      const { state = null } = values
      if (state !== null && !STATES.includes(String(state)))
        throw new UsageError(`--state must be one of ${STATES.join(', ')}`)
      const name = state === null ? null : String(state)
      const rows = await database.read(LIST_ANY, [name, name, MAX_TASKS])
      return { rows: rows.map((row: Row) => rowOf(taskOf(row))) }
    },
  },
  show: {
    arguments: 'ID',
    summary: 'Shows everything that is stored of one task.',
    example: 'tollgate tasks show 911088422699962368',
    async run({ positionals: [id = ''] }, host) {
      const { slots: _, hold, callback, ...task } = await findTask(host, id)
      const callbacks = await host.database.read(CALLBACKS_OF, [id])
      const view = {
        ...task,
        // The path and the query of the URL may contain secrets.
        callback: callback ? hostOf(callback.url) : null,
        callbacks: callbacks.map(row => ({ ...row, created: timeOf(Number(row.created)) })),
        held: hold ? printMoney(BigInt(hold.held)) : null,
        created: timeOf(task.created),
        changed: timeOf(task.changed),
        deadline: timeOf(task.deadline),
      }
      return { text: JSON.stringify(view, null, 2), json: view }
    },
  },
  retry: {
    arguments: 'ID',
    summary: 'Submits a task again whose fate is unknown. The upstream may then do the work twice.',
    example: 'tollgate tasks retry 911088422699962368',
    async run({ positionals: [id = ''] }, host) {
      const task = await findTask(host, id)
      if (task.state !== 'unknown') throw fault('TASK_DECIDED', [id, task.state, 'unknown', id])
      await writeWithRetry(host.database, [retryIdleTask(task, Date.now())])
      return { rows: [rowOf(await findTask(host, id))] }
    },
  },
  cancel: {
    arguments: 'ID',
    summary: 'Ends a task that was not submitted yet, without a charge.',
    example: 'tollgate tasks cancel 911088422699962368',
    async run({ positionals: [id = ''] }, host) {
      return decide(host, await findTask(host, id), ['accepted'], 'failed', TASK_ERRORS.cancelled)
    },
  },
  pause: {
    arguments: 'UPSTREAM',
    summary:
      'Submits no more tasks to an upstream; those that it has are polled on. Lists the paused upstreams.',
    example: 'tollgate tasks pause vd',
    async run({ positionals: [name = ''] }, host) {
      await host.database.write([pauseUpstream(findUpstream(host, name), Date.now())])
      return readPauses(host)
    },
  },
  resume: {
    arguments: 'UPSTREAM',
    summary: 'Submits tasks to a paused upstream again. Lists the upstreams that are still paused.',
    example: 'tollgate tasks resume vd',
    async run({ positionals: [name = ''] }, host) {
      await host.database.write([resumeUpstream(name)])
      return readPauses(host)
    },
  },
  resolve: {
    arguments: 'ID',
    summary: 'Decides a task whose fate is unknown: it is charged, or its hold is released.',
    example: 'tollgate tasks resolve 911088422699962368 --refund',
    options: {
      charge: { type: 'boolean', summary: 'the upstream did the work: charge the task' },
      refund: { type: 'boolean', summary: 'the upstream did not do it: release its hold' },
    },
    async run({ positionals: [id = ''], values: { charge, refund } }, host) {
      if (Boolean(charge) === Boolean(refund))
        throw new UsageError('say either --charge or --refund')
      const task = await findTask(host, id)
      return charge
        ? decide(host, task, ['unknown'], 'succeeded')
        : decide(host, task, ['unknown'], 'failed', TASK_ERRORS.internal)
    },
  },
}
const timeOf = (ms: number): string => new Date(ms).toISOString()
const rowOf = (task: Task) => ({
  id: task.id,
  account: task.account,
  model: task.model,
  state: task.state,
  held: task.hold ? printMoney(BigInt(task.hold.held)) : '0',
  created: timeOf(task.created),
  upstream: task.target.upstream,
  upstream_id: task.upstreamId ?? '',
  error: task.error ? `${task.error.code} ${task.error.message}`.trim() : '',
})

export const commands: Readonly<Record<string, Command>> = {
  tasks: { summary: 'Shows tasks, and decides those whose fate is unknown.', subcommands },
}
