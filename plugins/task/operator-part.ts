/** Actions of operators on tasks: the operations `tasks` of the table run these. */
import { errors } from '../../engine/errors.ts'
import type { HostBase, Statement } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { chargeLate } from '../ledger/views/task-charges.ts'
import { contribute, type TaskPart, type TaskSummary } from '../operator/contributions.ts'
import type { Context } from '../operator/operation.ts'
import { taskCommands } from '../operator/operations/tasks.ts'
import type { PausedUpstream } from '../views.ts'
import { hostOf } from '../webhooks/address.ts'
import { announce, CALLBACKS_OF } from './callbacks.ts'
import { forgetRequest } from './requests/stored-request.ts'
import { closeHold, servedAtEnd } from './results/closed-hold.ts'
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
const pausesOf = async ({ store }: Context): Promise<readonly PausedUpstream[]> =>
  (await store.read(PAUSES, [])).map(({ upstream, since, waiting }) => ({
    upstream: String(upstream),
    since: isoTime(Number(since)),
    waiting: Number(waiting),
  }))
const setPause = async (
  context: Context,
  upstream: string,
  isPaused: boolean,
): Promise<readonly PausedUpstream[]> => {
  const list = [isPaused ? pauseUpstream(upstream, Date.now()) : resumeUpstream(upstream)]
  const before = (await pausesOf(context)).some(each => each.upstream === upstream)
  await context.store.change(list, {
    object: `upstream ${upstream}`,
    before: { paused: before },
    after: { paused: isPaused },
  })
  return pausesOf(context)
}

const findTask = async ({ database }: HostBase, id: string): Promise<Task> => {
  const [row] = await database.read(FIND_ANY, [id])
  if (!row) throw fault('TASK_UNKNOWN', [id])
  return taskOf(row)
}
interface End {
  /** The states that a task may have before. */
  readonly states: readonly string[]
  readonly state: 'succeeded' | 'failed'
  readonly code?: string
}
const endTask = async (
  { host, store }: Context,
  task: Task,
  { states, state, code }: End,
): Promise<TaskSummary> => {
  if (!states.includes(task.state))
    throw fault('TASK_STATE', [task.id, task.state, states.join(' or '), task.id])
  const error = code === undefined ? undefined : { code, message: 'an operator ended this task' }
  const after = { ...task, state, error: error ?? task.error }
  const now = Date.now()
  const list = [
    endIdleTask(task, state, error, now),
    ...(await announce(task.state, after, host, now)),
    ...forgetRequest(task, after),
    ...(task.state === 'failed'
      ? chargeReleased(task, now)
      : closeHold(task, state, undefined, servedAtEnd(task, now, host.upstreams))),
  ]
  await store.change(list, changeOf(task, state))
  return toOutputRow(await findTask(host, task.id))
}
const changeOf = (task: Task, state: Task['state']) => ({
  object: `task ${task.id}`,
  before: { state: task.state },
  after: { state },
})
const chargeReleased = (task: Task, now: number): readonly Statement[] => {
  const usage = usageAtEnd(task)
  return task.hold && usage ? chargeLate(task.hold, usage, now) : []
}
const listTasks = async ({ database }: HostBase, state: string | null) => {
  const rows = await database.read(LIST_ANY, [state, state, LIST_LIMIT])
  return rows.map(row => toOutputRow(taskOf(row)))
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
const retryTask = async ({ host, store }: Context, id: string) => {
  const task = await findTask(host, id)
  if (task.state !== 'unknown') throw fault('TASK_STATE', [id, task.state, 'unknown', id])
  await store.change([retryIdleTask(task, Date.now())], changeOf(task, 'accepted'))
  return toOutputRow(await findTask(host, id))
}
const resolveTask = async (context: Context, id: string, isCharged: boolean) => {
  const task = await findTask(context.host, id)
  const states = isReleased(task) ? ['unknown', 'failed'] : ['unknown']
  return endTask(
    context,
    task,
    isCharged
      ? { states, state: 'succeeded' }
      : { states: ['unknown'], state: 'failed', code: TASK_ERRORS.internal },
  )
}
const cancelTask = async (context: Context, id: string) => {
  const task = await findTask(context.host, id)
  const code = TASK_ERRORS.cancelled
  return endTask(context, task, { states: ['accepted'], state: 'failed', code })
}
/** Failed because it stayed unknown: the upstream may have run it after all. */
const isReleased = ({ state, error }: Task): boolean =>
  state === 'failed' && error?.message === UNKNOWN_ERROR.message
const taskPart: TaskPart = {
  list: listTasks,
  show: async (host, id) => JSON.parse(JSON.stringify(await showTask(host, id))),
  retry: retryTask,
  cancel: cancelTask,
  resolve: resolveTask,
  pause: (context, upstream) => setPause(context, findUpstream(context.host, upstream), true),
  resume: (context, upstream) => setPause(context, upstream, false),
}

/** Lets the operations of operators run. */
export const offerToOperators = (host: HostBase): void => {
  contribute(host, 'tasks', taskPart)
}

/** The amount that a task still holds: nothing once it has ended. */
const heldBy = (hold: Task['hold'], state: Task['state']): string | undefined =>
  hold && !isFinal(state) ? printMoney(BigInt(hold.held)) : undefined
const isoTime = (ms: number): string => new Date(ms).toISOString()
const toOutputRow = (task: Task): TaskSummary => ({
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

export const commands = taskCommands(offerToOperators)
