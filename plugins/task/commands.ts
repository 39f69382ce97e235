/** The command `tollgate tasks`: shows tasks, and resolves those in the state `unknown`. */
import { UsageError } from '../../engine/cli/kit.ts'
import { errors } from '../../engine/errors.ts'
import type { Command, HostBase, Row, SingleCommand } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { closeHold } from './runner.ts'
import { endIdleTask, FIND_ANY, LIST_ANY, retryIdleTask } from './statements.ts'
import { TASK_ERRORS, type Task, taskOf } from './task.ts'

const fault = errors({
  TASK_UNKNOWN: [404, 'No task has the id "%s"; `tollgate tasks list` shows the latest tasks'],
  TASK_DECIDED: [
    409,
    'Task "%s" is in the state %s; this command requires the state %s. `tollgate tasks show %s` shows the task',
  ],
})
/** Tasks that `tasks list` shows. */
const LIST_LIMIT = 100
const STATES = 'accepted submitting submitted running unknown succeeded failed'.split(' ')

const findTask = async ({ database }: HostBase, id: string): Promise<Task> => {
  const [row] = await database.read(FIND_ANY, [id])
  if (!row) throw fault('TASK_UNKNOWN', [id])
  return taskOf(row)
}
const endTask = async (
  host: HostBase,
  task: Task,
  states: readonly string[],
  finalState: 'succeeded' | 'failed',
  code?: string,
) => {
  if (!states.includes(task.state))
    throw fault('TASK_DECIDED', [task.id, task.state, states.join(' or '), task.id])
  const error = code === undefined ? undefined : { code, message: 'an operator ended this task' }
  const statements = [
    endIdleTask(task, finalState, error, Date.now()),
    ...closeHold(task, finalState),
  ]
  await writeWithRetry(host.database, statements)
  return { rows: [toOutputRow(await findTask(host, task.id))] }
}

const subcommands: Readonly<Record<string, SingleCommand>> = {
  list: {
    summary: 'Lists the latest tasks, newest first.',
    example: 'tollgate tasks list --state unknown',
    options: {
      state: {
        type: 'string',
        value: 'STATE',
        summary: `only tasks in this state: ${STATES.join(', ')}`,
      },
    },
    async run({ values }, { database }) {
      const state = values.state === undefined ? null : String(values.state)
      if (state !== null && !STATES.includes(state))
        throw new UsageError(`--state must be one of ${STATES.join(', ')}`)
      const rows = await database.read(LIST_ANY, [state, state, LIST_LIMIT])
      return { rows: rows.map((row: Row) => toOutputRow(taskOf(row))) }
    },
  },
  show: {
    arguments: 'ID',
    summary: 'Shows one task with its request, its results and its hold.',
    example: 'tollgate tasks show 911088422699962368',
    async run({ positionals: [id = ''] }, host) {
      const { slots: _, hold, ...task } = await findTask(host, id)
      const view = {
        ...task,
        held: hold ? printMoney(BigInt(hold.held)) : null,
        created: isoTime(task.created),
        changed: isoTime(task.changed),
        deadline: isoTime(task.deadline),
      }
      return { text: JSON.stringify(view, null, 2), json: view }
    },
  },
  retry: {
    arguments: 'ID',
    summary: 'Submits a task in the state unknown again. The upstream may then run it twice.',
    example: 'tollgate tasks retry 911088422699962368',
    async run({ positionals: [id = ''] }, host) {
      const task = await findTask(host, id)
      if (task.state !== 'unknown') throw fault('TASK_DECIDED', [id, task.state, 'unknown', id])
      await writeWithRetry(host.database, [retryIdleTask(task, Date.now())])
      return { rows: [toOutputRow(await findTask(host, id))] }
    },
  },
  cancel: {
    arguments: 'ID',
    summary: 'Cancels a task that is not submitted yet. It is not charged.',
    example: 'tollgate tasks cancel 911088422699962368',
    async run({ positionals: [id = ''] }, host) {
      return endTask(host, await findTask(host, id), ['accepted'], 'failed', TASK_ERRORS.cancelled)
    },
  },
  resolve: {
    arguments: 'ID',
    summary: 'Ends a task in the state unknown: charges it, or releases its hold.',
    example: 'tollgate tasks resolve 911088422699962368 --refund',
    options: {
      charge: { type: 'boolean', summary: 'the upstream ran the task: charge it' },
      refund: { type: 'boolean', summary: 'the upstream did not run the task: release its hold' },
    },
    async run({ positionals: [id = ''], values: { charge, refund } }, host) {
      if (Boolean(charge) === Boolean(refund))
        throw new UsageError('use either --charge or --refund')
      const task = await findTask(host, id)
      return charge
        ? endTask(host, task, ['unknown'], 'succeeded')
        : endTask(host, task, ['unknown'], 'failed', TASK_ERRORS.internal)
    },
  },
}
const isoTime = (ms: number): string => new Date(ms).toISOString()
const toOutputRow = (task: Task) => ({
  id: task.id,
  account: task.account,
  model: task.model,
  state: task.state,
  held: task.hold ? printMoney(BigInt(task.hold.held)) : '0',
  created: isoTime(task.created),
  upstream: task.target.upstream,
  upstream_id: task.upstreamId ?? '',
  error: task.error ? `${task.error.code} ${task.error.message}`.trim() : '',
})

export const commands: Readonly<Record<string, Command>> = {
  tasks: { summary: 'Shows tasks, and resolves those in the state unknown.', subcommands },
}
