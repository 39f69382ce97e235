/** The earlier task that a request goes on from, such as the grid of an image that is enlarged, or
 *  the clip that is extended. It is one of the same account and API, and the upstream that has it
 *  gets the request, with its own id of it. */
import { errors } from '../../../engine/errors.ts'
import type { Exchange, Host, Slot, Target } from '../../../engine/plugin.ts'
import { ownWorkValues } from '../../credentials/members.ts'
import { ACCOUNT } from '../../slots.ts'
import { taskDialects } from '../dialects/index.ts'
import type { TaskRule } from '../options.ts'
import { readPointer, withPointer } from '../pointer.ts'
import { FIND_BY_RESULT, FIND_IN_DIALECT, isResultId } from '../statements.ts'
import { type Fields, isFinal, type Task, taskOf } from '../task.ts'
import { taskReader, waitForTask } from '../wait.ts'

const fault = errors({
  TASK_PARENT: [
    400,
    'the task %s cannot be used: %s',
    { as: { vidu: { type: 'FieldInvalid' }, openai: { code: 'invalid_value' } } },
  ],
  TASK_CREATION: [
    400,
    'invalid field: %s: no finished task of this account has the result %s',
    { as: { vidu: { type: 'FieldInvalid' }, openai: { code: 'invalid_value' } } },
  ],
})
/** ms that a create waits until its parent has an id of the upstream. */
const SUBMIT_WAIT = 5_000
/** The upstream's id of the parent. */
const PARENT: Slot<string> = { name: 'parent task', keep: true }

interface ParentOptions {
  readonly rule: TaskRule
  readonly body: Fields
}
type ParentHost = Pick<Host, 'database' | 'membership'>

/** Undefined if requests of the route name none, or this one does not. Rejects with a fault. */
export const findParent = async (
  exchange: Exchange,
  host: ParentHost,
  options: ParentOptions,
): Promise<Task | undefined> => {
  const { dialect, upstreams } = options.rule
  const task =
    (await findNamed(exchange, host, options)) ?? (await findByCreation(exchange, host, options))
  if (task && upstreams && !upstreams.has(task.target.upstream))
    throw taskDialects[dialect].faults.notServed()
  return task
}
/** The task whose id the request has. It may not have ended, or not even begun. */
const findNamed = async (
  exchange: Exchange,
  host: ParentHost,
  { rule: { submit, dialect }, body }: ParentOptions,
): Promise<Task | undefined> => {
  const id = submit.parent === undefined ? undefined : readPointer(body, submit.parent)
  if (id === undefined || id === null) return undefined
  const { slots, signal } = exchange
  const { faults } = taskDialects[dialect]
  const account = slots.need(ACCOUNT)
  const values = [String(id), account.id, dialect, ...ownWorkValues(account)]
  const [row] = await host.database.read(FIND_IN_DIALECT, values)
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
  slots.set(PARENT, task.upstreamId)
  return task
}
/** The task with the result whose id the request has. All accounts share the key of the operator,
 *  so that the provider would take the id of another customer's result, too. */
const findByCreation = async (
  { slots }: Exchange,
  { database }: ParentHost,
  { rule: { submit, dialect }, body }: ParentOptions,
): Promise<Task | undefined> => {
  const id = submit.creation === undefined ? undefined : readPointer(body, submit.creation)
  if (submit.creation === undefined || id === undefined || id === null) return undefined
  const member = submit.creation.slice(1)
  const text = String(id)
  const account = slots.need(ACCOUNT)
  const values = [text, account.id, dialect, ...ownWorkValues(account)]
  const [row] = isResultId(text) ? await database.read(FIND_BY_RESULT, values) : []
  if (!row) throw fault('TASK_CREATION', [member, text.slice(0, 64)], { param: member })
  return taskOf(row)
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
