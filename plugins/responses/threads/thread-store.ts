/** Threads of Messages in the store of responses: each message is a row that names the message
 *  before it. Their ids have a prefix that no id of a response can have. */
import type { Database, Row, Statement } from '../../../engine/plugin.ts'
import { type Caller, type Owner, readAs } from '../../credentials/members.ts'
import { type Fields, isFields, lenientText, parseJson } from '../../formats/fields.ts'
import { fault } from '../faults.ts'
import { MAX_BYTES, MAX_RESPONSES, readHistoryRows } from '../response-store.ts'
import { deleteResponse, FIND, saveResponse, withdrawResponse } from '../statements.ts'
import { isId, type StorageLimits } from '../storage-options.ts'

type Store = Pick<Database, 'read'>

/** The messages that a request adds to its thread, with its `system` and `tools`; those of the
 *  request that began the thread count. */
export interface ThreadTurn extends Fields {
  readonly messages: readonly Fields[]
}
/** The conversation that a request continues. */
export interface Thread {
  /** With `system` and `tools` of the request that began it. */
  readonly turn: ThreadTurn
  /** When its first message was created, ms. */
  readonly start: number
}

const rowId = (message: string): string => `message ${message}`

export const readThread = async (
  database: Store,
  caller: Caller,
  message: string,
): Promise<Thread> => {
  const rows = isId(message) ? await readHistoryRows(database, caller, rowId(message)) : []
  const [first] = rows
  // Without its beginning, or of a message that was deleted, the thread cannot be continued.
  if (!first || (first.previous !== null && rows.length < MAX_RESPONSES))
    throw fault('THREAD_UNKNOWN', [message])
  const size = rows.reduce((sum, row) => sum + sizeOf(row), 0)
  if (first.previous !== null || size > MAX_BYTES)
    throw fault('THREAD_TOO_LONG', [MAX_BYTES, MAX_RESPONSES])
  const turn = fieldsIn(first.input)
  return { turn: { ...turn, messages: rows.flatMap(messagesIn) }, start: Number(first.created) }
}
const sizeOf = ({ input, response }: Row): number => String(input).length + String(response).length
const fieldsIn = (column: Row[string] | undefined): Fields => {
  const value = parseJson(String(column))
  return isFields(value) ? value : {}
}
const messagesIn = ({ input, response }: Row): readonly Fields[] => {
  const { messages } = fieldsIn(input)
  const { role = 'assistant', content = [] } = fieldsIn(response)
  return [...(Array.isArray(messages) ? messages.filter(isFields) : []), { role, content }]
}

/** The message that a request makes, and what it is stored with. */
export interface ThreadStorage extends Owner {
  /** ms. */
  readonly created: number
  readonly turn: ThreadTurn
  /** The id of the message before. */
  readonly previous?: string
  /** The whole conversation, for upstreams that give each message the same id. */
  readonly thread: ThreadTurn
}
/** Empty if the message cannot be continued: a refusal, an invalid id, or above the size limit. */
export const threadStatements = (
  { account, maker, created, turn, previous, thread }: ThreadStorage,
  message: Fields,
  { lifetime, largest }: StorageLimits,
): readonly Statement[] => {
  const id = lenientText(message, 'id') ?? ''
  if (!isId(id) || message.type !== 'message' || message.stop_reason === 'refusal') return []
  const isRepeated = id === previous
  const input = JSON.stringify(isRepeated ? thread : turn)
  const response = JSON.stringify(message)
  if (input.length + response.length > largest) return []
  const before = previous === undefined || isRepeated ? undefined : rowId(previous)
  const facts = { id: rowId(id), created, expires: created + lifetime, previous: before }
  const row = { ...facts, conversation: undefined, status: 'completed', input, response }
  return [saveResponse({ account, maker, ...row })]
}
export const withdrawMessage = (account: number, message: string): Statement =>
  withdrawResponse(account, rowId(message))

/** Throws MESSAGE_UNKNOWN. */
export const deleteMessage = async (
  database: Store,
  caller: Caller | undefined,
  message: string,
): Promise<Statement> => {
  const now = Date.now()
  const rows =
    caller && isId(message) ? await readAs(database, caller, FIND, [rowId(message), now]) : []
  if (!caller || rows.length === 0) throw fault('MESSAGE_UNKNOWN', [message])
  return deleteResponse(caller.id, rowId(message), now)
}
