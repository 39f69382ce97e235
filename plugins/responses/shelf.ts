/** What an account has kept: found by its id, told as it stands, and what a request continues. Of another account's there
 *  is as little as of none. */
import type { Database, Json, Row } from '../../engine/plugin.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import { itemsOf, type Kept } from '../formats/openai-responses/history.ts'
import { writeSurely } from '../ledger/surely.ts'
import { cleanConversations, FIND as FIND_CONVERSATION, TURNS } from './conversation-statements.ts'
import { fault } from './faults.ts'
import { type Asked, isId } from './keeping.ts'
import { CHAIN, cleanResponses, FIND } from './statements.ts'

type Store = Pick<Database, 'read' | 'write'>

/** Responses that one may continue, and the bytes of them. */
export const LONGEST = 1_000
export const LARGEST = 32 * 2 ** 20
/** Rows in one transaction of the cleaning. */
const PAGE = 500

export const findResponse = async (
  database: Store,
  account: number | undefined,
  id: string,
): Promise<Row> => {
  const [row] =
    account !== undefined && isId(id) ? await database.read(FIND, [account, id, Date.now()]) : []
  if (!row) throw fault('RESPONSE_UNKNOWN', [id])
  return row
}
export const findConversation = async (
  database: Store,
  account: number | undefined,
  id: string,
): Promise<Row | undefined> => {
  if (account === undefined || !isId(id)) return undefined
  const [row] = await database.read(FIND_CONVERSATION, [account, id, Date.now()])
  return row
}

/** As it stands by now: one that nobody makes any more has failed. */
export const toldOf = (row: Row): Fields => {
  const response = parsed(row.response)
  const fields = isFields(response) ? response : {}
  const { status, process } = row
  if (status === 'in_progress' && process === null) return { ...fields, ...BROKEN_OFF }
  return { ...fields, status: String(status) }
}
/** Why, where the gateway ended first. */
export const STOPPED = {
  code: 'server_error',
  message: 'The gateway was stopped while it made this response.',
} as const
const BROKEN_OFF = { status: 'failed', error: STOPPED } as const
export const inputOf = (row: Row): readonly Fields[] => itemsOf(parsed(row.input))

/** What was said before. */
export const contextOf = async (
  database: Store,
  account: number | undefined,
  { previous, conversation }: Asked,
): Promise<readonly Kept[]> => {
  if (conversation === undefined) return chainOf(database, account, previous ?? '')
  if (!(await findConversation(database, account, conversation)))
    throw fault('CONVERSATION_MISSING', [conversation])
  return bounded(await turnsOf(database, Number(account), conversation))
}
const chainOf = async (
  database: Store,
  account: number | undefined,
  previous: string,
): Promise<readonly Kept[]> => {
  if (account === undefined || !isId(previous)) throw fault('PREVIOUS_UNKNOWN', [previous])
  const now = Date.now()
  const values = [account, previous, now, account, now, LONGEST]
  const rows = await database.read(CHAIN, values)
  const [first] = rows
  if (!first) throw fault('PREVIOUS_UNKNOWN', [previous])
  if (rows.length === LONGEST) throw fault('CONTEXT_TOO_LONG', [LARGEST, LONGEST])
  // Part of what it continues was deleted: an answer to half of a conversation is none.
  if (first.previous !== null) throw fault('PREVIOUS_UNKNOWN', [first.previous])
  const running = rows.find(row => toldOf(row).status === 'in_progress' && row.process !== null)
  if (running) throw fault('PREVIOUS_UNFINISHED', [running.id])
  const before =
    first.conversation === null
      ? []
      : await turnsOf(database, account, String(first.conversation), Number(first.created))
  return bounded([...before, ...rows.map(keptOf)])
}
const keptOf = (row: Row): Kept => ({
  input: parsed(row.input),
  output: itemsOf(toldOf(row).output),
})
/** `until`: ms, exclusive. */
export const turnsOf = async (
  database: Store,
  account: number,
  conversation: string,
  until = Number.MAX_SAFE_INTEGER,
): Promise<readonly Kept[]> => {
  const rows = await turnRows(database, account, conversation, until)
  return rows.map(({ items }) => ({ input: parsed(items), output: [] }))
}
export const turnRows = (
  database: Store,
  account: number,
  conversation: string,
  until = Number.MAX_SAFE_INTEGER,
): Promise<readonly Row[]> => database.read(TURNS, [account, conversation, until])
const bounded = (all: readonly Kept[]): readonly Kept[] => {
  if (JSON.stringify(all).length > LARGEST) throw fault('CONTEXT_TOO_LONG', [LARGEST, LONGEST])
  return all
}
const parsed = (text: Row[string] | undefined): Json => JSON.parse(String(text ?? 'null')) as Json

/** Forgets what is too old. */
export const clean = async (database: Store, signal: AbortSignal): Promise<void> => {
  const now = Date.now()
  for (const page of [[cleanResponses(now, PAGE)], cleanConversations(now, PAGE)])
    for (let more = true; more && !signal.aborted; ) {
      const gone = await writeSurely(database, [...page])
      more = gone.at(-1)?.length === PAGE
    }
}
