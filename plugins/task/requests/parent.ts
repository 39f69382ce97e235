/** The earlier task that a request goes on from, such as the grid of an image that is enlarged. It
 *  is one of the same account and API, and the upstream that has it gets the request, with its own
 *  id of it. */
import { errors } from '../../../engine/errors.ts'
import type { Exchange, Host, Slot, Target } from '../../../engine/plugin.ts'
import { ACCOUNT } from '../../slots.ts'
import { taskDialects } from '../dialects/index.ts'
import type { TaskRule } from '../options.ts'
import { readPointer, withPointer } from '../pointer.ts'
import { FIND_IN_DIALECT } from '../statements.ts'
import { type Fields, isFinal, type Task, taskOf } from '../task.ts'
import { taskReader, waitForTask } from '../wait.ts'

const fault = errors({
  TASK_PARENT: [
    400,
    'the task %s cannot be used: %s',
    { as: { vidu: { type: 'FieldInvalid' }, openai: { code: 'invalid_value' } } },
  ],
})
/** ms that a create waits until its parent has an id of the upstream. */
const SUBMIT_WAIT = 5_000
/** The upstream's id of the parent. */
const PARENT: Slot<string> = { name: 'parent task', keep: true }

/** Undefined if requests of the route name none, or this one does not. Rejects with a fault. */
export const findParent = async (
  exchange: Exchange,
  host: Pick<Host, 'database' | 'membership'>,
  { rule, body }: { readonly rule: TaskRule; readonly body: Fields },
): Promise<Task | undefined> => {
  const { submit, dialect, upstreams } = rule
  const id = submit.parent === undefined ? undefined : readPointer(body, submit.parent)
  if (id === undefined || id === null) return undefined
  const { slots, signal } = exchange
  const { faults } = taskDialects[dialect]
  const [row] = await host.database.read(FIND_IN_DIALECT, [
    String(id),
    slots.need(ACCOUNT).id,
    dialect,
  ])
  if (!row) throw faults.notFound(String(id))
  const stored = taskOf(row)
  const task = await waitForTask(stored, {
    longest: SUBMIT_WAIT,
    signal,
    membership: host.membership,
    isEnough: ({ upstreamId, state }) => upstreamId !== undefined || isFinal(state),
    read: taskReader(host.database, stored),
  })
  if (task.state === 'failed') throw fault('TASK_PARENT', [task.id, 'it failed'])
  if (task.upstreamId === undefined) throw fault('TASK_PARENT', [task.id, 'it has not begun'])
  if (upstreams && !upstreams.has(task.target.upstream)) throw faults.notServed()
  slots.set(PARENT, task.upstreamId)
  return task
}
/** A task goes on at the address and with the key that have its parent. */
export const targetBehind = ({ target }: Task, own: Target): Target =>
  target.upstream === own.upstream && target.pin ? { ...own, pin: target.pin } : target
/** The request with the upstream's id of its parent. */
export const withParent = (
  body: Fields,
  { parent: place }: TaskRule['submit'],
  { [PARENT.name]: id }: Task['slots'],
): Fields =>
  place === undefined || id === undefined ? body : (withPointer(body, place, id) as Fields)
