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
import type { Place } from './membership.ts'
import { addRow, deleteRow, join, type Kind, leave, setRow } from './tables.ts'

const ATTRIBUTES = { user: USER, group: GROUP } as const

type Next = Pick<Stored, 'id' | 'kind' | 'resource' | 'member'>
/** The effect of a change: the row, the entry of the log of actions, and further statements. */
interface Effect {
  readonly stored: Resource
  readonly before: Json
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
  const place = await changes.place({ id, member, resource: stored }, groups, now)
  return {
    stored,
    before: { ...userLog(resource), ...place.before },
    after: after ? { ...userLog(after), ...place.after } : null,
    list: place.list,
  }
}

/** Throws SCIM_VALUE. */
const usersIn = (resource: Resource): readonly number[] => {
  const values = itemsAt(resource, 'members').map(each => String(each.value ?? ''))
  const wrong = values.find(each => !/^\d{1,15}$/.test(each))
  if (wrong !== undefined) throw fault('SCIM_VALUE', [`There is no user with the id "${wrong}"`])
  return [...new Set(values.map(Number))]
}
/** `members`: those whose team, name or role changes with the group. */
const groupLog = (resource: Resource, members: readonly Json[]): Json => ({
  displayName: textAt(resource, 'displayName') ?? '',
  users: usersIn(resource),
  ...(members.length > 0 && { members }),
})
const effectOnGroup = async (
  changes: Changes,
  { id, resource: before }: Next,
  after: Resource | undefined,
  now: number,
): Promise<Effect> => {
  const [earlierUsers, users] = [new Set(usersIn(before)), new Set(usersIn(after ?? {}))]
  const [earlierName, name] = [before, after ?? {}].map(each => textAt(each, 'displayName'))
  const joining = [...users.difference(earlierUsers)]
  const leaving = [...earlierUsers.difference(users)]
  const { accounts = {}, roles = {} } = changes.rules
  const isMapped = [earlierName, name].some(
    each => each !== undefined && (Object.hasOwn(accounts, each) || Object.hasOwn(roles, each)),
  )
  const affected = earlierName === name ? [...joining, ...leaving] : [...earlierUsers.union(users)]
  const affectedUsers = await changes.findUsers(affected)
  const groupsOfUsers = isMapped ? await changes.groupsOf(affected) : undefined
  const list: Statement[] = [
    ...leaving.map(each => leave(id, each)),
    ...joining.map(each => join(id, each)),
  ]
  const [places, earlierPlaces, laterPlaces] = [new Set<string>(), [] as Json[], [] as Json[]]
  for (const user of groupsOfUsers ? affectedUsers : []) {
    const groups = groupsOfUsers?.get(user.id)?.filter(group => group.id !== id) ?? []
    const names = groups.map(group => group.name)
    if (users.has(user.id) && name !== undefined) names.push(name)
    const place = await changes.place(user, names, now)
    list.push(...place.list)
    if (place.list.length > 0) {
      earlierPlaces.push({ user: user.id, ...place.before })
      laterPlaces.push({ user: user.id, ...place.after })
    }
    refuseTwice(places, place.after)
  }
  const { members: _, ...stored } = after ?? before
  return {
    stored,
    before: groupLog(before, earlierPlaces),
    after: after ? groupLog(after, laterPlaces) : null,
    list,
  }
}
/** Two users of one change may have the same name of a member. */
const refuseTwice = (places: Set<string>, place: Place | undefined): void => {
  if (!place) return
  const key = JSON.stringify([place.account, place.name])
  if (places.has(key)) throw fault('SCIM_EXISTS', ['user', 'name of the member', place.name])
  places.add(key)
}

/** Resolves to the id. */
export const create = async (changes: Changes, kind: Kind, body: Json): Promise<number> => {
  const active = kind === 'user' ? { active: true } : {}
  const resource: Resource = { ...active, ...readResource(body, ATTRIBUTES[kind]) }
  let id = 0
  await changes.run(async (version, now) => {
    // No number is used twice.
    id = version + 1
    const empty = { id, kind, member: null, resource: {} }
    const { stored, after, list } = await effectOf(changes, empty, resource, now)
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
    const current = await readWhole(changes, kind, id)
    const { resource } = current
    const target = next(resource)
    const { stored, before, after, list } = await effectOf(changes, current, target, now)
    const action = { object: `SCIM ${kind} ${id}`, before, after }
    if (!target)
      return {
        ...action,
        operation: `scim delete-${kind}`,
        list: [...list, ...deleteRow(current.id)],
      }
    const content = await changes.content(kind, current.id, stored)
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
