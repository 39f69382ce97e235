/** Pure statements over conversations and what was said in them. */
import type { Sql, Statement } from '../../engine/plugin.ts'

const sql = (name: string, text: string): Sql => ({ name: `conversations: ${name}`, text })

const OPEN = sql(
  'open',
  `INSERT INTO stored_conversations (account, id, created, expires, metadata)
   VALUES (?, ?, ?, ?, ?)`,
)
const ADD = sql(
  'add',
  `INSERT INTO stored_turns (account, conversation, created, id, items)
   SELECT account, id, CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS TEXT)
   FROM stored_conversations WHERE account = ? AND id = ?
   ON CONFLICT (account, conversation, created, id) DO NOTHING`,
)
const REFRESH = sql(
  'refresh',
  'UPDATE stored_conversations SET expires = ? WHERE account = ? AND id = ?',
)
const DESCRIBE = sql(
  'describe',
  'UPDATE stored_conversations SET metadata = ? WHERE account = ? AND id = ?',
)
const CHANGE = sql(
  'change',
  `UPDATE stored_turns SET items = ?
   WHERE account = ? AND conversation = ? AND created = ? AND id = ? AND items = ?`,
)
const FORGET = sql(
  'forget',
  'DELETE FROM stored_conversations WHERE account = ? AND id = ? AND expires > ? RETURNING id',
)
const FORGET_TURNS = sql(
  'forget turns',
  'DELETE FROM stored_turns WHERE account = ? AND conversation = ?',
)
const CLEAN_TURNS = sql(
  'clean turns',
  `DELETE FROM stored_turns WHERE (account, conversation) IN (SELECT account, id
   FROM stored_conversations WHERE expires <= ? ORDER BY expires LIMIT ?)`,
)
const CLEAN = sql(
  'clean',
  `DELETE FROM stored_conversations WHERE (account, id) IN (SELECT account, id
   FROM stored_conversations WHERE expires <= ? ORDER BY expires LIMIT ?) RETURNING id`,
)
/** One of an account's, by its id. */
export const FIND = sql(
  'find',
  `SELECT id, created, metadata FROM stored_conversations
   WHERE account = ? AND id = ? AND expires > ?`,
)
/** What was said before an instant, in order. */
export const TURNS = sql(
  'turns',
  `SELECT id, created, items FROM stored_turns WHERE account = ? AND conversation = ? AND created < ?
   ORDER BY created, id`,
)
/** One thing that was said, whichever conversation of its account it was said in. */
export const TURN = sql(
  'turn',
  `SELECT t.items FROM stored_turns t
   JOIN stored_conversations c ON c.account = t.account AND c.id = t.conversation
   WHERE t.account = ? AND t.id = ? AND c.expires > ?`,
)

export interface Conversation {
  readonly account: number
  readonly id: string
  /** ms. */
  readonly created: number
  readonly expires: number
  /** JSON. */
  readonly metadata: string
}
export const openConversation = (of: Conversation): Statement => ({
  sql: OPEN,
  values: [of.account, of.id, of.created, of.expires, of.metadata],
})
/** What was said at one instant. Nothing happens where the conversation is gone. */
export const addTurn = (
  { account, id, expires }: Pick<Conversation, 'account' | 'id' | 'expires'>,
  turn: { readonly id: string; readonly created: number; readonly items: string },
): readonly Statement[] => [
  { sql: ADD, values: [turn.created, turn.id, turn.items, account, id] },
  { sql: REFRESH, values: [expires, account, id] },
]
export const describeConversation = (account: number, id: string, metadata: string): Statement => ({
  sql: DESCRIBE,
  values: [metadata, account, id],
})
/** Rejects with TURN_CHANGED where it is not what it was. */
export const changeTurn = (
  { account, id }: Pick<Conversation, 'account' | 'id'>,
  turn: { readonly id: string; readonly created: number; readonly items: string },
  items: string,
): Statement => ({
  sql: CHANGE,
  values: [items, account, id, turn.created, turn.id, turn.items],
  ...{ rows: 1, otherwise: 'TURN_CHANGED' },
})
/** The first returns a row where there was one. */
export const forgetConversation = (
  account: number,
  id: string,
  now: number,
): readonly Statement[] => [
  { sql: FORGET, values: [account, id, now] },
  { sql: FORGET_TURNS, values: [account, id] },
]
/** The last returns a row for each that went. */
export const cleanConversations = (until: number, most: number): readonly Statement[] => [
  { sql: CLEAN_TURNS, values: [until, most] },
  { sql: CLEAN, values: [until, most] },
]
