/** Creates, replaces, changes and deletes users and groups. A change of a group gives each of its
 *  users the place that follows. */
import type { Json, Statement } from '../../engine/plugin.ts'
import {
  GROUP,
  itemsAt,
  type Resource,
  readResource,
  textAt,
  USER,
} from '../scim-protocol/attributes.ts'
import { fault } from '../scim-protocol/faults.ts'
import { patch } from '../scim-protocol/patch.ts'
import type { Changes, Stored } from './changes.ts'
import { addRow, deleteRow, join, type Kind, leave, setRow } from './tables.ts'

const ATTRIBUTES = { user: USER, group: GROUP } as const

type Next = Pick<Stored, 'id' | 'kind' | 'resource' | 'member'>
/** The effect of a change: the row, the entry of the log of actions, and further statements. */
interface Effect {
  readonly stored: Resource
  readonly after: Json
  readonly list: readonly Statement[]
}
/** `after` undefined: the resource is deleted. Throws SCIM_…. */
const effectOf = (changes: Changes, before: Next, after: Resource | undefined, now: number) =>
  before.kind === 'user'
    ? effectOnUser(changes, before, after, now)
    : effectOnGroup(changes, before, after, now)

const userLog = ({
  userName = '',
  active = true,
}: Resource): { readonly [name: string]: Json } => ({
  userName: userName as string,
  active: active as boolean,
})
const effectOnUser = async (
  changes: Changes,
  { id, member, resource }: Next,
  after: Resource | undefined,
  now: number,
): Promise<Effect> => {
  const stored = after ?? { ...resource, active: false }
  const groups = (await changes.others('user', id)).map(each => each.name)
  const { place, list } = await changes.place({ id, member, resource: stored }, groups, now)
  return { stored, after: after ? { ...userLog(after), ...place } : null, list }
}

/** Throws SCIM_VALUE. */
const usersIn = (resource: Resource): readonly number[] => {
  const values = itemsAt(resource, 'members').map(each => String(each.value ?? ''))
  const wrong = values.find(each => !/^\d{1,15}$/.test(each))
  if (wrong !== undefined) throw fault('SCIM_VALUE', [`There is no user with the id "${wrong}"`])
  return [...new Set(values.map(Number))]
}
const groupLog = (resource: Resource): Json => ({
  displayName: textAt(resource, 'displayName') ?? '',
  users: usersIn(resource),
})
const effectOnGroup = async (
  changes: Changes,
  { id, resource: before }: Next,
  after: Resource | undefined,
  now: number,
): Promise<Effect> => {
  const [were, are] = [new Set(usersIn(before)), new Set(usersIn(after ?? {}))]
  const [earlier, name] = [before, after ?? {}].map(each => textAt(each, 'displayName'))
  const [joining, leaving] = [[...are.difference(were)], [...were.difference(are)]]
  const { accounts = {}, roles = {} } = changes.rules
  const isMapped = [earlier, name].some(
    each => each !== undefined && (Object.hasOwn(accounts, each) || Object.hasOwn(roles, each)),
  )
  const list: Statement[] = [
    ...leaving.map(each => leave(id, each)),
    ...joining.map(each => join(id, each)),
  ]
  for (const each of earlier === name ? [...joining, ...leaving] : were.union(are)) {
    const user = await changes.find('user', each)
    if (!isMapped) continue
    const groups = (await changes.others('user', each)).filter(group => group.id !== id)
    const names = groups.map(group => group.name)
    if (are.has(each) && name !== undefined) names.push(name)
    list.push(...(await changes.place(user, names, now)).list)
  }
  const { members: _, ...stored } = after ?? before
  return { stored, after: after ? groupLog(after) : null, list }
}

/** Resolves to the id. */
export const create = async (changes: Changes, kind: Kind, body: Json): Promise<number> => {
  const active = kind === 'user' ? { active: true } : {}
  const resource: Resource = { ...active, ...readResource(body, ATTRIBUTES[kind]) }
  let id = 0
  await changes.run(async (version, now) => {
    // No number is used twice.
    id = version + 1
    const before = { id, kind, member: null, resource: {} }
    const { stored, after, list } = await effectOf(changes, before, resource, now)
    const content = await changes.content(kind, id, stored)
    const action = { operation: `scim create-${kind}`, object: `SCIM ${kind} ${id}` }
    return { ...action, before: null, after, list: [addRow(content, now), ...list] }
  })
  return id
}
const readWhole = async (changes: Changes, kind: Kind, id: string): Promise<Stored> => {
  const stored = await changes.find(kind, id)
  if (kind === 'user') return stored
  const users = await changes.others('group', stored.id)
  const members = users.map(each => ({ value: String(each.id) }))
  return { ...stored, resource: { ...stored.resource, members } }
}
/** `next` resolves to the changed resource; undefined deletes it. */
const change = (
  changes: Changes,
  kind: Kind,
  id: string,
  next: (before: Resource) => Resource | undefined,
): Promise<void> =>
  changes.run(async (_, now) => {
    const before = await readWhole(changes, kind, id)
    const { resource } = before
    const target = next(resource)
    const { stored, after, list } = await effectOf(changes, before, target, now)
    const log = kind === 'user' ? userLog(resource) : groupLog(resource)
    const action = { object: `SCIM ${kind} ${id}`, before: log, after }
    if (!target)
      return {
        ...action,
        operation: `scim delete-${kind}`,
        list: [...list, ...deleteRow(before.id)],
      }
    const content = await changes.content(kind, before.id, stored)
    const { members: _members, ...others } = resource
    if (list.length === 0 && content.attributes === JSON.stringify(others)) return undefined
    const operation = `scim update-${kind}`
    return { ...action, operation, list: [setRow(content, now), ...list] }
  })
/** A body without `active` or `members` leaves them: Okta renames groups so. */
export const replace = (changes: Changes, kind: Kind, id: string, body: Json): Promise<void> => {
  const read = readResource(body, ATTRIBUTES[kind])
  return change(changes, kind, id, ({ active, members }) => ({
    ...(active !== undefined && { active }),
    ...(members !== undefined && { members }),
    ...read,
  }))
}
export const modify = (changes: Changes, kind: Kind, id: string, body: Json): Promise<void> =>
  change(changes, kind, id, before => patch(before, body, ATTRIBUTES[kind]))
export const remove = (changes: Changes, kind: Kind, id: string): Promise<void> =>
  change(changes, kind, id, () => undefined)
