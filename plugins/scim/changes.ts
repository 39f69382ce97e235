/** Reads users and groups, and runs their changes: each is computed from one version of the tables,
 *  written in one transaction with its row in the log of actions, and computed again if another
 *  change came first. */
import { setTimeout as pause } from 'node:timers/promises'
import { isCode } from '../../engine/kit.ts'
import type { Exchange, Host, Row, Statement } from '../../engine/plugin.ts'
import type { Action, Actor } from '../action-log/action.ts'
import { recordAction } from '../action-log/record.ts'
import type { Provisioning } from '../identity-provider/provisioning.ts'
import { type Resource, textAt } from '../scim-protocol/attributes.ts'
import { fault } from '../scim-protocol/faults.ts'
import { currentPlace, memberOf, membershipStatements, placeOf, type User } from './membership.ts'
import {
  advance,
  BY_ID,
  COUNT,
  GROUPS_OF_USERS,
  type Kind,
  listValues,
  OTHERS,
  USERS,
  versionOf,
} from './tables.ts'

export interface Stored extends User {
  readonly kind: Kind
  /** ms since 1970. */
  readonly created: number
  readonly changed: number
}
export interface Planned extends Omit<Action, 'actor'> {
  readonly list: readonly Statement[]
}
const MOST_ATTEMPTS = 30
/** ms. */
const LONGEST_PAUSE = 20

export const NAMES = { user: 'userName', group: 'displayName' } as const

const resourceIn = (row: Row) => JSON.parse(String(row.attributes)) as Resource
const nameIn = (row: Row, attribute: string) => ({
  id: Number(row.id),
  name: textAt(resourceIn(row), attribute) ?? '',
})
/** `isRemoved`: the user is not active. */
const storedIn = (kind: Kind, row: Row, isRemoved: boolean): Stored => {
  const resource = resourceIn(row)
  return {
    kind,
    id: Number(row.id),
    created: Number(row.created),
    changed: Number(row.changed),
    member: row.member == null ? null : Number(row.member),
    resource: isRemoved ? { ...resource, active: false } : resource,
  }
}

export class Changes {
  readonly #host: Host
  readonly rules: Provisioning
  readonly #actor: Actor

  constructor(host: Host, rules: Provisioning, { id, request }: Exchange) {
    this.#host = host
    this.rules = rules
    const { address } = request.client
    this.#actor = { via: 'SCIM', name: 'identity provider', address, request: id }
  }
  get database() {
    return this.#host.database
  }
  record(list: readonly Statement[], action: Omit<Action, 'actor'>): Promise<unknown> {
    return recordAction(this.#host, list, { ...action, actor: this.#actor })
  }
  /** `plan` resolves to undefined if there is nothing to change. */
  async run(plan: (version: number, now: number) => Promise<Planned | undefined>): Promise<void> {
    for (let attempts = 1; ; attempts++) {
      const version = await versionOf(this.database)
      const planned = await plan(version, await this.database.now())
      if (!planned) return
      const { list, ...action } = planned
      try {
        await this.record([advance(version), ...list], action)
        return
      } catch (error) {
        if (!isCode(error, 'SCIM_CHANGED', 'MEMBER_CHANGED', 'MEMBER_EXISTS')) throw error
        if (attempts === MOST_ATTEMPTS) throw fault('SCIM_BUSY')
      }
      await pause(Math.random() * LONGEST_PAUSE)
    }
  }

  /** Throws SCIM_UNKNOWN. */
  async find(kind: Kind, id: string | number): Promise<Stored> {
    const isNumber = /^\d{1,15}$/.test(String(id))
    const [row] = isNumber ? await this.database.read(BY_ID, [kind, Number(id)]) : []
    if (!row) throw fault('SCIM_UNKNOWN', [kind, String(id).slice(0, 100)])
    return this.stored(kind, row)
  }
  /** A user whom the team has removed is not active. */
  async stored(kind: Kind, row: Row): Promise<Stored> {
    const member = row.member == null ? null : Number(row.member)
    const isRemoved = member !== null && (await memberOf(this.database, member))?.removed !== null
    return storedIn(kind, row, isRemoved)
  }
  /** The users with these numbers. Throws SCIM_UNKNOWN. */
  async findUsers(ids: readonly number[]): Promise<readonly Stored[]> {
    const rows = ids.length === 0 ? [] : await this.database.read(USERS, [JSON.stringify(ids)])
    const rowsById = new Map(rows.map(row => [Number(row.id), row]))
    return ids.map(id => {
      const row = rowsById.get(id)
      if (!row) throw fault('SCIM_UNKNOWN', ['user', String(id)])
      return storedIn('user', row, Number(row.is_removed) === 1)
    })
  }
  /** The groups of each of the users, with their names. */
  async groupsOf(ids: readonly number[]) {
    const rows =
      ids.length === 0 ? [] : await this.database.read(GROUPS_OF_USERS, [JSON.stringify(ids)])
    return Map.groupBy(
      rows.map(row => ({ ...nameIn(row, NAMES.group), user: Number(row.user_id) })),
      each => each.user,
    )
  }
  /** The groups of a user, or the users of a group, with their names. */
  async others(kind: Kind, id: number) {
    const name = kind === 'user' ? NAMES.group : NAMES.user
    const rows = await this.database.read(OTHERS[kind], [id])
    return rows.map(row => nameIn(row, name))
  }
  /** The row of a resource. Throws SCIM_VALUE, or SCIM_EXISTS if another has its name. */
  async content(kind: Kind, id: number, resource: Resource) {
    const name = textAt(resource, NAMES[kind])
    if (name === undefined) throw fault('SCIM_VALUE', [`${NAMES[kind]} is required`])
    const key = name.toLowerCase()
    const [own] = await this.database.read(BY_ID, [kind, id])
    const [same] = own?.key === key ? [] : await this.database.read(COUNT, listValues(kind, key))
    if (Number(same?.total ?? 0) > 0) throw fault('SCIM_EXISTS', [kind, NAMES[kind], name])
    const externalId = textAt(resource, 'externalId') ?? null
    return { id, kind, key, externalId, attributes: JSON.stringify(resource) }
  }
  /** The place of a user before and after, by the names of its groups, and the statements that
   *  change it. */
  async place(user: User, groups: readonly string[], now: number) {
    const after = placeOf(this.rules, user.resource, groups)
    const before = await currentPlace(this.database, user)
    return { before, after, list: await membershipStatements(this, user, after, now) }
  }
}
