/** Statements over conversations and their turns. Pure. */
import type { Sql, Statement } from '../../engine/plugin.ts'
import { makerValues, type Owner, overMade } from '../credentials/members.ts'

const sql = (name: string, text: string): Sql => ({ name: `conversations: ${name}`, text })

const OPEN = sql(
  'open',
  `INSERT INTO stored_conversations (account, id, created, expires, metadata, key, member)
   VALUES (?, ?, ?, ?, ?, ?, ?)`,
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
const UPDATE_METADATA = sql(
  'describe',
  'UPDATE stored_conversations SET metadata = ? WHERE account = ? AND id = ?',
)
const CHANGE = sql(
  'change',
  `UPDATE stored_turns SET items = ?
   WHERE account = ? AND conversation = ? AND created = ? AND id = ? AND items = ?`,
)
const DELETE = sql(
  'delete',
  'DELETE FROM stored_conversations WHERE account = ? AND id = ? AND expires > ? RETURNING id',
)
const WITHDRAW = sql('withdraw', 'DELETE FROM stored_conversations WHERE account = ? AND id = ?')
const WITHDRAW_TURN = sql(
  'withdraw turn',
  'DELETE FROM stored_turns WHERE account = ? AND conversation = ? AND id = ?',
)
const DELETE_TURNS = sql(
  'delete turns',
  'DELETE FROM stored_turns WHERE account = ? AND conversation = ?',
)
const DELETE_EXPIRED_TURNS = sql(
  'clean turns',
  `DELETE FROM stored_turns WHERE (account, conversation) IN (SELECT account, id
   FROM stored_conversations WHERE expires <= ? ORDER BY expires LIMIT ?)`,
)
const DELETE_EXPIRED = sql(
  'clean',
  `DELETE FROM stored_conversations WHERE (account, id) IN (SELECT account, id
   FROM stored_conversations WHERE expires <= ? ORDER BY expires LIMIT ?) RETURNING id`,
)
/** A conversation that a caller sees (parameters of the caller, id, now). */
export const FIND = overMade('stored_conversations', caller =>
  sql(
    'find',
    `SELECT id, created, metadata FROM stored_conversations
     WHERE ${caller} AND id = ? AND expires > ?`,
  ),
)
/** The turns of a conversation before an instant, in order. */
export const TURNS = sql(
  'turns',
  `SELECT id, created, items FROM stored_turns WHERE account = ? AND conversation = ? AND created < ?
   ORDER BY created, id`,
)
/** A turn in any conversation that a caller sees, by its id (parameters of the caller, id, now). */
export const TURN = overMade('c', caller =>
  sql(
    'turn',
    `SELECT t.items FROM stored_turns t
     JOIN stored_conversations c ON c.account = t.account AND c.id = t.conversation
     WHERE ${caller} AND t.id = ? AND c.expires > ?`,
  ),
)

export interface Conversation extends Owner {
  readonly id: string
  /** ms. */
  readonly created: number
  readonly expires: number
  /** JSON. */
  readonly metadata: string
}
export const openConversation = (conversation: Conversation): Statement => ({
  sql: OPEN,
  values: [
    conversation.account,
    conversation.id,
    conversation.created,
    conversation.expires,
    conversation.metadata,
    ...makerValues(conversation.maker),
  ],
})
/** Adds a turn. Does nothing if the conversation was deleted. */
export const addTurn = (
  { account, id, expires }: Pick<Conversation, 'account' | 'id' | 'expires'>,
  turn: { readonly id: string; readonly created: number; readonly items: string },
): readonly Statement[] => [
  { sql: ADD, values: [turn.created, turn.id, turn.items, account, id] },
  { sql: REFRESH, values: [expires, account, id] },
]
export const updateMetadata = (account: number, id: string, metadata: string): Statement => ({
  sql: UPDATE_METADATA,
  values: [metadata, account, id],
})
/** Rejects with TURN_CHANGED if another request changed the turn. */
export const changeTurn = (
  { account, id }: Pick<Conversation, 'account' | 'id'>,
  turn: { readonly id: string; readonly created: number; readonly items: string },
  items: string,
): Statement => ({
  sql: CHANGE,
  values: [items, account, id, turn.created, turn.id, turn.items],
  rows: 1,
  otherwise: 'TURN_CHANGED',
})
/** The first statement returns a row if the conversation existed. */
export const deleteConversation = (
  account: number,
  id: string,
  now: number,
): readonly Statement[] => [
  { sql: DELETE, values: [account, id, now] },
  { sql: DELETE_TURNS, values: [account, id] },
]
/** Removes a conversation whose client was told that its create failed. */
export const withdrawConversation = (account: number, id: string): readonly Statement[] => [
  { sql: WITHDRAW, values: [account, id] },
  { sql: DELETE_TURNS, values: [account, id] },
]
/** Removes the turn of a request whose client was told that it failed. */
export const withdrawTurn = (account: number, conversation: string, turn: string): Statement => ({
  sql: WITHDRAW_TURN,
  values: [account, conversation, turn],
})
/** The last statement returns a row for each deleted conversation. */
export const deleteExpiredConversations = (until: number, limit: number): readonly Statement[] => [
  { sql: DELETE_EXPIRED_TURNS, values: [until, limit] },
  { sql: DELETE_EXPIRED, values: [until, limit] },
]
