/** The request that submits a task to its upstream. */
import type { Host, Json } from '../../../engine/plugin.ts'
import type { TaskDialect } from '../dialects/dialect.ts'
import { taskDialects } from '../dialects/index.ts'
import { noticeAddress } from '../endpoints/change-notices.ts'
import type { TaskRule } from '../options.ts'
import { membersAt, withPointer } from '../pointer.ts'
import type { Fields, Task } from '../task.ts'
import { withParent } from './parent.ts'

/** Adds what the upstream is told about the task: its id, and the address for notices. */
export const withOwnMembers = async (
  host: Host,
  { submit: { own_id: ownId, callback } }: Pick<TaskRule, 'submit'>,
  members: Fields,
  id: string,
): Promise<Json> => {
  const named = ownId === undefined ? members : withPointer(members, ownId, id)
  return callback === undefined
    ? named
    : withPointer(named, callback, await noticeAddress(host, id))
}

/** Its path, and the body in the upstream's form, with the target's name of the model. */
export const submitRequest = (
  { body, path, target, slots }: Pick<Task, 'body' | 'path' | 'target' | 'slots'>,
  { dialect, submit }: TaskRule,
): { readonly path: string; readonly members: Fields } => {
  const { submitted }: TaskDialect = taskDialects[dialect]
  const request = withParent(submitted?.(body, target) ?? body, submit, slots)
  const rule = submit.with.find(([member]) => request[member] !== undefined)?.[1] ?? submit
  const members = rule.body ? membersAt(request, rule.body) : request
  const named = 'model' in members && target.name !== undefined
  return {
    path: rule.path?.replaceAll('{model}', encodeURIComponent(target.name ?? '')) ?? path,
    members: named ? { ...members, model: target.name ?? '' } : members,
  }
}
