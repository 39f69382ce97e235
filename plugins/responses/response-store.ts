/** Response store: finds the stored responses and conversations of an account, and the history that
 *  a request continues. Rows that the caller may not see are treated as missing. */
import type { Database, Json, Row } from '../../engine/plugin.ts'
import { type Caller, readAs } from '../credentials/members.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import { itemsOf, type StoredExchange } from '../formats/openai-responses/history.ts'
import { writePages } from '../ledger/write-with-retry.ts'
import {
  deleteExpiredConversations,
  FIND as FIND_CONVERSATION,
  TURNS,
} from './conversation-statements.ts'
import { fault } from './faults.ts'
import {
  deleteBegunResponses,
  deleteExpiredResponses,
  FIND,
  FIND_INPUT,
  HISTORY,
} from './statements.ts'
import { isId, type StorageOptions } from './storage-options.ts'

type Store = Pick<Database, 'read' | 'write'>

/** Limits of a history: responses, and bytes. */
export const MAX_RESPONSES = 1_000
export const MAX_BYTES = 32 * 2 ** 20
/** Rows in one transaction of a cleanup. */
const PAGE = 500

export const findResponse = async (
  database: Store,
  caller: Caller | undefined,
  id: string,
): Promise<Row> => {
  const [row] = caller && isId(id) ? await readAs(database, caller, FIND, [id, Date.now()]) : []
  if (!row) throw fault('RESPONSE_UNKNOWN', [id])
  return row
}
export const findConversation = async (
  database: Store,
  caller: Caller | undefined,
  id: string,
): Promise<Row | undefined> => {
  if (!caller || !isId(id)) return undefined
  const [row] = await readAs(database, caller, FIND_CONVERSATION, [id, Date.now()])
  return row
}

/** The response with its current status: an unfinished one that nothing runs any more failed. */
export const responseOf = (row: Row): Fields => {
  const response = parseColumn(row.response)
  const fields = isFields(response) ? response : {}
  const { status, process, calls = 0 } = row
  if (status === 'in_progress' && process === null && Number(calls) === 0)
    return { ...fields, ...FAILED }
  return { ...fields, status: String(status) }
}
/** The error of a response whose processes ended again and again. */
export const STOPPED_ERROR = {
  code: 'server_error',
  message: 'The processes that ran this response ended before it was finished.',
} as const
const FAILED = { status: 'failed', error: STOPPED_ERROR } as const
export const readInput = async (
  database: Pick<Database, 'read'>,
  account: number,
  id: string,
): Promise<readonly Fields[]> => itemsOf(await readInputJson(database, account, id))
/** As it is stored; null: the response was deleted meanwhile. */
export const readInputJson = async (
  database: Pick<Database, 'read'>,
  account: number,
  id: string,
): Promise<Json> => {
  const [row] = await database.read(FIND_INPUT, [account, id])
  return parseColumn(row?.input)
}

/** The history that a request continues. */
export interface History {
  readonly exchanges: readonly StoredExchange[]
  /** When its first response was created, ms; absent: it is that of a conversation. */
  readonly start?: number
}
export const readHistory = async (
  database: Store,
  caller: Caller | undefined,
  { previous, conversation }: StorageOptions,
): Promise<History> => {
  if (conversation === undefined) return readChain(database, caller, previous ?? '')
  if (!(await findConversation(database, caller, conversation)))
    throw fault('CONVERSATION_MISSING', [conversation])
  return { exchanges: checkSize(await readTurns(database, Number(caller?.id), conversation)) }
}
const readChain = async (
  database: Store,
  caller: Caller | undefined,
  previous: string,
): Promise<History> => {
  if (!caller || !isId(previous)) throw fault('PREVIOUS_UNKNOWN', [previous])
  const rows = await readHistoryRows(database, caller, previous)
  const [first] = rows
  if (!first) throw fault('PREVIOUS_UNKNOWN', [previous])
  if (rows.length === MAX_RESPONSES) throw fault('CONTEXT_TOO_LONG', [MAX_BYTES, MAX_RESPONSES])
  // Part of the history was deleted: the request cannot be answered without it.
  if (first.previous !== null) throw fault('PREVIOUS_UNKNOWN', [first.previous])
  const running = rows.find(row => responseOf(row).status === 'in_progress')
  if (running) throw fault('PREVIOUS_UNFINISHED', [running.id])
  const before =
    first.conversation === null
      ? []
      : await readTurns(database, caller.id, String(first.conversation), Number(first.created))
  const exchanges = checkSize([...before, ...rows.map(exchangeOf)])
  return { exchanges, start: Number(first.created) }
}
/** A row and those that it continues, the oldest first. */
export const readHistoryRows = (
  database: Pick<Database, 'read'>,
  caller: Caller,
  id: string,
): Promise<readonly Row[]> => {
  const now = Date.now()
  return readAs(database, caller, HISTORY, [id, now, caller.id, now, MAX_RESPONSES])
}
const exchangeOf = (row: Row): StoredExchange => ({
  input: parseColumn(row.input),
  output: itemsOf(responseOf(row).output),
})
/** `until`: ms, exclusive. */
export const readTurns = async (
  database: Store,
  account: number,
  conversation: string,
  until = Number.MAX_SAFE_INTEGER,
): Promise<readonly StoredExchange[]> => {
  const rows = await readTurnRows(database, account, conversation, until)
  return rows.map(({ items }) => ({ input: parseColumn(items), output: [] }))
}
export const readTurnRows = (
  database: Store,
  account: number,
  conversation: string,
  until = Number.MAX_SAFE_INTEGER,
): Promise<readonly Row[]> => database.read(TURNS, [account, conversation, until])
const checkSize = (all: readonly StoredExchange[]): readonly StoredExchange[] => {
  if (JSON.stringify(all).length > MAX_BYTES)
    throw fault('CONTEXT_TOO_LONG', [MAX_BYTES, MAX_RESPONSES])
  return all
}
const parseColumn = (text: Row[string] | undefined): Json =>
  JSON.parse(String(text ?? 'null')) as Json

/** Deletes expired rows, and those whose create was never finished, page by page. */
export const deleteExpired = async (database: Store, signal: AbortSignal): Promise<void> => {
  const now = Date.now()
  const pages = [
    [deleteBegunResponses(PAGE)],
    [deleteExpiredResponses(now, PAGE)],
    deleteExpiredConversations(now, PAGE),
  ]
  for (const page of pages) await writePages(database, () => [...page], PAGE, signal)
}
