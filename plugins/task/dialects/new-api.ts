/** Members that the task endpoints of new-api share. Pure. */
import { errors } from '../../../engine/errors.ts'
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFinal, type State, type Task } from '../task.ts'
import type { TaskDialect } from './dialect.ts'
import { LIST_SIZE, STATUSES } from './statuses.ts'

const fault = errors({
  NEW_API_MODEL: [404, 'This model makes nothing on this endpoint.', { param: 'model' }],
  NEW_API_TASK_UNKNOWN: [404, 'task_not_exist', { param: 'task_id' }],
  NEW_API_NOT_CANCELLABLE: [400, 'The task is %s and cannot be cancelled.', { param: 'task_id' }],
  NEW_API_TASKS_OPEN: [429, 'You have %d unfinished tasks. Wait until one has finished.'],
})

/** The beginning of the ids of its tasks. */
export const PREFIX = 'task_'

export const secondsOf = (ms: number): number => Math.floor(ms / 1_000)

/** The text of a member; undefined if it has none. */
export const textIn = (fields: Fields, name: string): string | undefined => {
  const value = fields[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}
/** The address of the first result. */
export const urlOf = ({ results, state }: Task): string | undefined =>
  state === 'succeeded' ? textIn((results[0] ?? {}) as Fields, 'url') : undefined

export const reasonOf = ({ state, error }: Task): string =>
  state === 'failed' ? error?.message || error?.code || 'task_failed' : ''

/** A task as new-api shows it, whatever its provider. `data`: the answer of the provider. */
export const taskMembers = (task: Task, action: string, data: Json): Fields => {
  const { body, created, changed, deadline, started, state } = task
  const url = urlOf(task)
  // A task that failed by its deadline changes again with each late poll.
  const end = state === 'failed' ? Math.min(changed, deadline) : changed
  return {
    task_id: task.id,
    action,
    status: STATUSES[state],
    fail_reason: reasonOf(task),
    ...(url !== undefined && { result_url: url }),
    submit_time: secondsOf(created),
    start_time: started === undefined ? 0 : secondsOf(started),
    finish_time: isFinal(state) ? secondsOf(end) : 0,
    progress: isFinal(state) ? '100%' : `${task.progress}%`,
    created_at: secondsOf(created),
    updated_at: secondsOf(changed),
    properties: { input: textIn(body, 'prompt') ?? '', origin_model_name: task.model },
    data,
  }
}
/** The envelope of its answers. */
export const successOf = (data: Json) => ({ code: 'success', message: '', data }) as const

/** `ids` of the body: only these. */
export const page: TaskDialect['page'] = (search, now) => ({
  from: 0,
  to: now + 1,
  size: LIST_SIZE,
  number: 0,
  filters: { ids: search.getAll('ids') },
})
export const faults: TaskDialect['faults'] = {
  notServed: () => fault('NEW_API_MODEL'),
  notFound: () => fault('NEW_API_TASK_UNKNOWN'),
  notCancellable: state => fault('NEW_API_NOT_CANCELLABLE', [STATUSES[state as State]]),
  tooManyOpen: most => fault('NEW_API_TASKS_OPEN', [most]),
}
