/** The tables of provisioned users and groups, and their statements. Each change raises
 *  `scim_state.version`: a change that was computed from an earlier version is refused. */
import type { Database, Migration, Sql, Statement, Value } from '../../engine/plugin.ts'
import { isPresent, MEMBER_NUMBER } from '../credentials/members.ts'

export const migrations: readonly Migration[] = [
  {
    // `key`: the name without case. `member`: the number of the member that a user is or was.
    number: 1,
    text: `
  CREATE TABLE scim_state (id BIGINT PRIMARY KEY, version BIGINT NOT NULL);
  INSERT INTO scim_state (id, version) VALUES (1, 0);
  CREATE TABLE scim_resources (
    id BIGINT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('user', 'group')),
    key TEXT NOT NULL,
    external_id TEXT,
    attributes TEXT NOT NULL,
    member BIGINT,
    created BIGINT NOT NULL,
    changed BIGINT NOT NULL,
    UNIQUE (kind, key));
  CREATE INDEX scim_resources_external ON scim_resources (kind, external_id);
  CREATE INDEX scim_resources_member ON scim_resources (member) WHERE member IS NOT NULL;
  CREATE TABLE scim_group_users (
    group_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    PRIMARY KEY (group_id, user_id));
  CREATE INDEX scim_group_users_user ON scim_group_users (user_id)`,
  },
]
export type Kind = 'user' | 'group'
const sql = (name: string, text: string): Sql => ({ name: `scim: ${name}`, text })
const COLUMNS = 'r.id, r.key, r.attributes, r.member, r.created, r.changed'
const WHERE = `kind = ? AND (CAST(? AS TEXT) IS NULL OR key = ?)
  AND (CAST(? AS TEXT) IS NULL OR external_id = ?)`

/** Parameters: kind, number. */
export const BY_ID = sql(
  'by id',
  `SELECT ${COLUMNS} FROM scim_resources r WHERE kind = ? AND id = ?`,
)
/** The parameters of COUNT, and the first of LIST; null for all. */
export const listValues = (kind: Kind, key: Value, externalId: Value = null): readonly Value[] => [
  kind,
  key,
  key,
  externalId,
  externalId,
]
export const COUNT = sql('count', `SELECT count(*) AS total FROM scim_resources WHERE ${WHERE}`)
/** More parameters: row count, rows to skip. */
export const LIST = sql(
  'list',
  `SELECT ${COLUMNS} FROM scim_resources r WHERE ${WHERE} ORDER BY id LIMIT ? OFFSET ?`,
)
export const USERS_OF_MEMBER = sql(
  'users of member',
  'SELECT id FROM scim_resources WHERE member = ?',
)
const others = (own: string, other: string): Sql =>
  sql(
    `${other} of ${own}`,
    `SELECT ${COLUMNS} FROM scim_group_users m JOIN scim_resources r ON r.id = m.${other}
     WHERE m.${own} = ? ORDER BY r.id`,
  )
/** The groups of a user, and the users of a group. */
export const OTHERS = {
  user: others('user_id', 'group_id'),
  group: others('group_id', 'user_id'),
} as const
const forUsers = (name: string, text: (ids: string) => string): Sql => ({
  ...sql(name, text('SELECT value FROM json_each(?)')),
  postgres: text('SELECT CAST(json_array_elements_text(CAST(? AS JSON)) AS BIGINT)'),
})
/** Users by their numbers (JSON list). `is_removed`: 1 if the team has removed the member. */
export const USERS = forUsers(
  'users',
  ids => `SELECT ${COLUMNS},
       CASE WHEN r.member IS NULL OR ${isPresent('r.member')} THEN 0 ELSE 1 END AS is_removed
     FROM scim_resources r
     WHERE r.kind = 'user' AND r.id IN (${ids})`,
)
/** The groups of users (JSON list of their numbers). */
export const GROUPS_OF_USERS = forUsers(
  'groups of users',
  ids => `SELECT m.user_id, r.id, r.attributes
     FROM scim_group_users m JOIN scim_resources r ON r.id = m.group_id
     WHERE m.user_id IN (${ids}) ORDER BY r.id`,
)
const VERSION = sql('version', 'SELECT version FROM scim_state WHERE id = 1')
const ADVANCE = sql('advance', 'UPDATE scim_state SET version = ? WHERE id = 1 AND version = ?')
const ADD = sql(
  'add',
  `INSERT INTO scim_resources (kind, key, external_id, attributes, changed, created, id)
   VALUES (?, ?, ?, ?, ?, ?, ?)`,
)
const SET = sql(
  'set',
  `UPDATE scim_resources SET kind = ?, key = ?, external_id = ?, attributes = ?, changed = ? WHERE id = ?`,
)
const DELETE = sql('delete', 'DELETE FROM scim_resources WHERE id = ?')
const EMPTY = sql('empty', 'DELETE FROM scim_group_users WHERE group_id = ? OR user_id = ?')
const JOIN = sql('join', 'INSERT INTO scim_group_users (group_id, user_id) VALUES (?, ?)')
const LEAVE = sql('leave', 'DELETE FROM scim_group_users WHERE group_id = ? AND user_id = ?')
const LINK = sql('link', `UPDATE scim_resources SET member = ${MEMBER_NUMBER} WHERE id = ?`)
const UNLINK = sql('unlink', 'UPDATE scim_resources SET member = NULL WHERE id = ?')

export const versionOf = async (database: Pick<Database, 'read'>): Promise<number> => {
  const [row] = await database.read(VERSION, [])
  return Number(row?.version)
}
/** The first statement of each change. Rejects with SCIM_CHANGED. */
export const advance = (version: number): Statement => ({
  sql: ADVANCE,
  values: [version + 1, version],
  rows: 1,
  otherwise: 'SCIM_CHANGED',
})
const one = (statement: Sql, ...values: Value[]): Statement => ({ sql: statement, values, rows: 1 })
interface Content {
  readonly id: number
  readonly kind: Kind
  readonly key: string
  readonly externalId: string | null
  readonly attributes: string
}
const valuesOf = ({ kind, key, externalId, attributes }: Content) =>
  [kind, key, externalId, attributes] as const
export const addRow = (content: Content, now: number): Statement =>
  one(ADD, ...valuesOf(content), now, now, content.id)
export const setRow = (content: Content, now: number): Statement =>
  one(SET, ...valuesOf(content), now, content.id)
/** With its places in groups. */
export const deleteRow = (id: number): readonly Statement[] => [
  { sql: EMPTY, values: [id, id] },
  one(DELETE, id),
]
export const join = (group: number, user: number): Statement => one(JOIN, group, user)
export const leave = (group: number, user: number): Statement => one(LEAVE, group, user)
export const linkToMember = (id: number, account: number, name: string): Statement =>
  one(LINK, account, name, id)
export const unlinkMember = (id: number): Statement => one(UNLINK, id)
