/** The command `tollgate tasks`: shows tasks, and resolves those in the state `unknown`. */
import { UsageError } from '../../engine/cli/kit.ts'
import { errors } from '../../engine/errors.ts'
import type { Command, HostBase, Row, SingleCommand, Statement } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { chargeLate } from '../ledger/views/task-charges.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { type OperatorParts, operatorParts } from '../operator/contributions.ts'
import { hostOf } from '../webhooks/address.ts'
import { announce, CALLBACKS_OF } from './callbacks.ts'
import { closeHold } from './moves.ts'
import { forgetRequest } from './requests/stored-request.ts'
import { showWhole } from './results/shown.ts'
import {
  endIdleTask,
  FIND_ANY,
  LIST_ANY,
  PAUSES,
  pauseUpstream,
  resumeUpstream,
  retryIdleTask,
} from './statements.ts'
import { isFinal, TASK_ERRORS, type Task, taskOf, UNKNOWN_ERROR } from './task.ts'
import { usageAtEnd } from './usage.ts'

const fault = errors({
  TASK_UNKNOWN: [404, 'No task has the id "%s"; `tollgate tasks list` shows the latest tasks'],
  TASK_UPSTREAM_UNKNOWN: [404, 'No upstream has the name "%s"; the configuration has %s'],
  TASK_STATE: [
    409,
    'Task "%s" is in the state %s; this command requires the state %s. `tollgate tasks show %s` shows the task',
  ],
})
/** Tasks that `tasks list` shows. */
const LIST_LIMIT = 100
const findUpstream = ({ upstreams }: HostBase, name: string): string => {
  if (Object.hasOwn(upstreams, name)) return name
  throw fault('TASK_UPSTREAM_UNKNOWN', [name, Object.keys(upstreams).join(', ')])
}
const readPauses = async ({ database }: HostBase) => ({
  rows: (await database.read(PAUSES, [])).map(({ upstream, since, waiting }) => ({
    upstream: String(upstream),
    since: isoTime(Number(since)),
    waiting: Number(waiting),
  })),
})
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
    throw fault('TASK_STATE', [task.id, task.state, states.join(' or '), task.id])
  const error = code === undefined ? undefined : { code, message: 'an operator ended this task' }
  const now = Date.now()
  const after = { ...task, state: finalState, error: error ?? task.error }
  await writeWithRetry(host.database, [
    endIdleTask(task, finalState, error, now),
    ...(await announce(task.state, after, host, now)),
    ...forgetRequest(task, after),
    ...(task.state === 'failed' ? chargeReleased(task, now) : closeHold(task, finalState)),
  ])
  return toOutputRow(await findTask(host, task.id))
}
const chargeReleased = (task: Task, now: number): readonly Statement[] => {
  const usage = usageAtEnd(task)
  return task.hold && usage ? chargeLate(task.hold, usage, now) : []
}
const listTasks = async ({ database }: HostBase, state: string | null) => {
  const rows = await database.read(LIST_ANY, [state, state, LIST_LIMIT])
  return rows.map((row: Row) => toOutputRow(taskOf(row)))
}
const showTask = async (host: HostBase, id: string) => {
  const {
    slots: _,
    parts,
    isCut,
    meters,
    hold,
    callback,
    ...task
  } = await showWhole(await findTask(host, id), host)
  const callbacks = await host.database.read(CALLBACKS_OF, [id])
  return {
    ...task,
    // The path and the query of the URL may contain secrets.
    callback: callback ? hostOf(callback.url) : null,
    callbacks: callbacks.map(row => ({ ...row, created: isoTime(Number(row.created)) })),
    held: heldBy(hold, task.state) ?? null,
    created: isoTime(task.created),
    changed: isoTime(task.changed),
    deadline: isoTime(task.deadline),
    expires: isoTime(task.expires),
  }
}
const retryTask = async (host: HostBase, id: string) => {
  const task = await findTask(host, id)
  if (task.state !== 'unknown') throw fault('TASK_STATE', [id, task.state, 'unknown', id])
  await writeWithRetry(host.database, [retryIdleTask(task, Date.now())])
  return toOutputRow(await findTask(host, id))
}
const resolveTask = async (host: HostBase, id: string, isCharged: boolean) => {
  const task = await findTask(host, id)
  const states = isReleased(task) ? ['unknown', 'failed'] : ['unknown']
  return isCharged
    ? endTask(host, task, states, 'succeeded')
    : endTask(host, task, ['unknown'], 'failed', TASK_ERRORS.internal)
}
/** Failed because it stayed unknown: the upstream may have run it after all. */
const isReleased = ({ state, error }: Task): boolean =>
  state === 'failed' && error?.message === UNKNOWN_ERROR.message
const taskCommands: NonNullable<OperatorParts['tasks']> = {
  list: listTasks,
  show: async (host, id) => JSON.parse(JSON.stringify(await showTask(host, id))),
  retry: retryTask,
  resolve: resolveTask,
}

/** Lets endpoints of operators do what the commands do. */
export const offerToOperators = (host: HostBase): void => {
  operatorParts(host).tasks = taskCommands
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
    async run({ values }, host) {
      const state = values.state === undefined ? null : String(values.state)
      if (state !== null && !STATES.includes(state))
        throw new UsageError(`--state must be one of ${STATES.join(', ')}`)
      return { rows: await listTasks(host, state) }
    },
  },
  show: {
    arguments: 'ID',
    summary: 'Shows one task with its request, its results and its hold.',
    example: 'tollgate tasks show 911088422699962368',
    async run({ positionals: [id = ''] }, host) {
      const view = await showTask(host, id)
      return { text: JSON.stringify(view, null, 2), json: view }
    },
  },
  retry: {
    arguments: 'ID',
    summary: 'Submits a task in the state unknown again. The upstream may then run it twice.',
    example: 'tollgate tasks retry 911088422699962368',
    async run({ positionals: [id = ''] }, host) {
      return { rows: [await retryTask(host, id)] }
    },
  },
  cancel: {
    arguments: 'ID',
    summary: 'Cancels a task that is not submitted yet. It is not charged.',
    example: 'tollgate tasks cancel 911088422699962368',
    async run({ positionals: [id = ''] }, host) {
      const task = await findTask(host, id)
      return { rows: [await endTask(host, task, ['accepted'], 'failed', TASK_ERRORS.cancelled)] }
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
    summary:
      'Ends a task in the state unknown: charges it, or releases its hold. Also charges one that failed because it stayed unknown.',
    example: 'tollgate tasks resolve 911088422699962368 --refund',
    options: {
      charge: { type: 'boolean', summary: 'the upstream ran the task: charge it' },
      refund: { type: 'boolean', summary: 'the upstream did not run the task: release its hold' },
    },
    async run({ positionals: [id = ''], values: { charge, refund } }, host) {
      if (Boolean(charge) === Boolean(refund))
        throw new UsageError('use either --charge or --refund')
      return { rows: [await resolveTask(host, id, Boolean(charge))] }
    },
  },
}
/** The amount that a task still holds: nothing once it has ended. */
const heldBy = (hold: Task['hold'], state: Task['state']): string | undefined =>
  hold && !isFinal(state) ? printMoney(BigInt(hold.held)) : undefined
const isoTime = (ms: number): string => new Date(ms).toISOString()
const toOutputRow = (task: Task) => ({
  id: task.id,
  account: task.account,
  model: task.model,
  state: task.state,
  held: heldBy(task.hold, task.state) ?? '0',
  created: isoTime(task.created),
  upstream: task.target.upstream,
  upstream_id: task.upstreamId ?? '',
  error: task.error ? `${task.error.code} ${task.error.message}`.trim() : '',
})

export const commands: Readonly<Record<string, Command>> = {
  tasks: { summary: 'Shows tasks, and resolves those in the state unknown.', subcommands },
}
