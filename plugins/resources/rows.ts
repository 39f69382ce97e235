/** Rows of objects that upstreams keep for accounts, and the statements over them. Pure. */
import type { Row, Sql, Statement, Target, TargetPin } from '../../engine/plugin.ts'
import {
  type CallerSql,
  makerIn,
  makerValues,
  type Owner,
  overMade,
} from '../credentials/members.ts'
import { type Fields, isFields, parseJson } from '../formats/fields.ts'
import type { Model } from '../slots.ts'

export type Kind = 'files' | 'cachedContents' | 'uploads'
export interface Resource extends Owner {
  /** Such as files/abc. */
  readonly name: string
  readonly kind: Kind
  readonly upstream: string
  readonly pin: TargetPin | undefined
  /** Of the request that made it, if it had one. */
  readonly model?: Model | undefined
  readonly details: Fields
  /** ms since 1970. */
  readonly created: number
  readonly expires: number
}
const sql = (name: string, text: string, postgres?: string): Sql => ({
  name: `resources: ${name}`,
  text,
  ...(postgres !== undefined && { postgres }),
})

const fieldsOf = (text: unknown): Fields => {
  const value = typeof text === 'string' ? parseJson(text) : undefined
  return isFields(value) ? value : {}
}
export const resourceOf = (row: Row): Resource => ({
  account: Number(row.account),
  maker: makerIn(row),
  name: String(row.name),
  kind: String(row.kind) as Kind,
  upstream: String(row.upstream),
  pin: row.pin === null ? undefined : (fieldsOf(row.pin) as TargetPin),
  ...(row.model !== null && { model: { asked: String(row.model), entry: String(row.entry) } }),
  details: fieldsOf(row.details),
  created: Number(row.created),
  expires: Number(row.expires),
})
/** The target with the address and the key that keep the object. */
export const targetOf = ({ upstream, pin }: Resource): Target => ({
  upstream,
  ...(pin && { pin }),
})

const PUT = sql(
  'put',
  `INSERT INTO provider_resources (account, name, kind, upstream, pin, model, entry, details, created,
     expires, key, member) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
   ON CONFLICT (account, name) DO UPDATE SET upstream = excluded.upstream, pin = excluded.pin,
     model = excluded.model, entry = excluded.entry, details = excluded.details,
     created = excluded.created, expires = excluded.expires, key = excluded.key,
     member = excluded.member`,
)
export const putResource = (resource: Resource): Statement => ({
  sql: PUT,
  values: [
    resource.account,
    resource.name,
    resource.kind,
    resource.upstream,
    resource.pin ? JSON.stringify(resource.pin) : null,
    resource.model?.asked ?? null,
    resource.model?.entry ?? null,
    JSON.stringify(resource.details),
    resource.created,
    resource.expires,
    ...makerValues(resource.maker),
  ],
})
const UPDATE = sql(
  'update',
  'UPDATE provider_resources SET details = ?, expires = ? WHERE account = ? AND name = ?',
)
/** The provider's present description of an object. One that was deleted meanwhile stays so. */
export const updateResource = ({ account, name, details, expires }: Resource): Statement => ({
  sql: UPDATE,
  values: [JSON.stringify(details), expires, account, name],
})
const REMOVE = sql('remove', 'DELETE FROM provider_resources WHERE account = ? AND name = ?')
export const removeResource = ({ account, name }: Resource): Statement => ({
  sql: REMOVE,
  values: [account, name],
})
const REMOVE_EXPIRED = sql('remove expired', 'DELETE FROM provider_resources WHERE expires <= ?')
export const removeExpired = (before: number): Statement => ({
  sql: REMOVE_EXPIRED,
  values: [before],
})

/** Objects that a caller sees; the parameters of the caller come first. */
const ofCaller = (make: (condition: string) => Sql): CallerSql =>
  overMade('provider_resources', make)
/** An object (name). */
export const FIND = ofCaller(caller =>
  sql('find', `SELECT * FROM provider_resources WHERE ${caller} AND name = ?`),
)
/** The objects of any account that have these names. `visible`: 1 if the caller sees it (JSON
 *  list). */
export const FIND_NAMED = ofCaller(caller => {
  const named = (list: string): string =>
    `SELECT *, CASE WHEN ${caller} THEN 1 ELSE 0 END AS visible FROM provider_resources
     WHERE name IN (SELECT ${list})`
  return sql(
    'find named',
    named('value FROM json_each(?)'),
    named('json_array_elements_text(CAST(? AS JSON))'),
  )
})
/** Objects behind a position, newest first (kind, now, created, name, row count). */
export const PAGE = ofCaller(caller =>
  sql(
    'page',
    `SELECT * FROM provider_resources WHERE ${caller} AND kind = ? AND expires > ?
       AND (created, name) < (?, ?) ORDER BY created DESC, name DESC LIMIT ?`,
  ),
)
