/** A new task, and the statements that store it together with its hold. */
import { LOG_DETAILS } from '../../engine/kit.ts'
import type { Database, Exchange, Fault, Host, Job, Target } from '../../engine/plugin.ts'
import { secondsOrderOf } from '../conversion/route-format.ts'
import { servedByTask } from '../ledger/views/served-by.ts'
import { linkCharge } from '../ledger/views/task-charges.ts'
import { writeWhileAway } from '../ledger/write-with-retry.ts'
import { pieceQueueOf } from '../pieces/piece-queue.ts'
import { ACCOUNT, HOLD, MODEL } from '../slots.ts'
import { Undo } from '../undo/undo.ts'
import { storeRequest } from './requests/stored-request.ts'
import { createTask, OPEN, startTask, withdrawTask } from './statements.ts'
import { type Callback, type Fields, makeTaskId, type Task } from './task.ts'
import { settingsOf, usageOfRequest } from './usage.ts'

interface NewTask {
  readonly now: number
  readonly body: Fields
  readonly target: Target
  /** ms since 1970. */
  readonly deadline: number
  /** ms that it is kept after its deadline. */
  readonly keep: number
  /** Made before, where something is encrypted for it. */
  readonly id?: string
  readonly callback?: Callback | undefined
  readonly isCall?: boolean
}
/** Throws `refusal` if the account has that many unfinished tasks. `most`: undefined if there is
 *  not a limit. */
export const limitOpen = async (
  database: Pick<Database, 'read'>,
  account: number,
  most: number | undefined,
  refusal: (most: number) => Fault,
): Promise<void> => {
  if (most === undefined) return
  const [row] = await database.read(OPEN, [account])
  if (Number(row?.open ?? 0) >= most) throw refusal(most)
}
/** Takes the hold of the call over, and names the task in the log line of its request. */
export const newTask = (
  { id: request, route, request: { path }, slots }: Exchange,
  {
    now,
    body,
    target,
    deadline,
    keep,
    id = makeTaskId(now, Math.random()),
    callback,
    isCall = false,
  }: NewTask,
): Task => {
  const account = slots.need(ACCOUNT)
  const hold = slots.get(HOLD)?.keep()
  const model = slots.get(MODEL)?.asked ?? ''
  slots.set(LOG_DETAILS, { task: id, model, ...settingsOf({ body, hold }) })
  return {
    id,
    account: account.id,
    key: account.key?.id,
    request,
    route: route.name,
    path,
    model,
    state: 'accepted',
    body,
    isCut: false,
    parts: 0,
    meters: hold && usageOfRequest(body, hold, secondsOrderOf({ route })).meters,
    reported: undefined,
    slots: slots.toJson(),
    target,
    hold,
    upstreamId: undefined,
    attempts: 0,
    failures: 0,
    progress: 0,
    error: undefined,
    results: [],
    copies: [],
    isCopying: false,
    callback,
    created: now,
    changed: now,
    deadline,
    expires: deadline + keep,
    late: false,
    isCall,
    refreshed: undefined,
    started: undefined,
  }
}
interface Storage {
  /** Makes the steps of tasks. */
  readonly job: Job
  readonly isAwaited: boolean
  /** Of the configuration. */
  readonly version: number
  /** Encrypted. */
  readonly callbackKey?: string | undefined
  /** Undefined for calls. */
  readonly dialect?: string
  /** The group of tasks that shares `running`; see modes/modes.ts. */
  readonly mode?: string | undefined
  readonly mustWait?: boolean
}
/** The tasks that this process holds back until their clients are answered. */
export const delayedTasks = (host: Pick<Host, 'share'>): Set<string> =>
  host.share('delayed tasks', '1', () => new Set<string>())

/** Stores the task with the writes of its request. It begins once the client is answered, and is
 *  removed if the client is told that the request failed. `isAwaited`: the client waits for its
 *  end, so it begins before the answer. The request is durable before. Returns the task as its rows
 *  say. */
export const saveTask = async (
  host: Pick<Host, 'database' | 'membership' | 'share' | 'upstreams'>,
  exchange: Exchange,
  task: Task,
  { job, isAwaited, ...storage }: Storage,
): Promise<Task> => {
  const { writes } = exchange
  const { hold, request, created: now } = task
  const heldBy = isAwaited ? undefined : await host.membership.name()
  const delayed = delayedTasks(host)
  if (heldBy !== undefined) delayed.add(task.id)
  Undo.of(exchange).add({
    undo: [withdrawTask(request)],
    onUndo: () => void delayed.delete(task.id),
    onKept() {
      if (heldBy === undefined) return job.wake()
      const list = [startTask(request, heldBy)]
      void writeWhileAway(host.database, list, () => true).finally(() => {
        delayed.delete(task.id)
        job.wake()
      })
    },
  })
  const stored = await storeRequest(host.database, task, task.meters, pieceQueueOf(host))
  if (hold)
    writes.add(
      linkCharge(task.id, hold.request, settingsOf(task), servedByTask(task, host.upstreams)),
    )
  const { version, callbackKey, dialect, mode, mustWait = false } = storage
  const start = { dialect, mode, mustWait, heldBy }
  writes.add(...createTask({ ...task, ...start, stored, version, callbackKey, now }))
  const { summary, parts, whole } = stored
  return { ...task, body: whole ?? summary, parts }
}
