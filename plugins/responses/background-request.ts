/** The request of a background response: it is stored in pieces apart from the row of the response,
 *  which changes with its state, and read again by the process that takes the call over. */
import type { Database, Exchange, Host, Json, ResumedCall } from '../../engine/plugin.ts'
import { forwardedHeadersOf } from '../conversion/forwarded-headers.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { bytesOf, piecesOf } from '../pieces/json-pieces.ts'
import { pieceQueueOf } from '../pieces/piece-queue.ts'
import { fault } from './faults.ts'
import {
  addPieces,
  beginResponse,
  CALL,
  openResponse,
  PIECES,
  type ResponseRow,
  saveCall,
  withdrawResponse,
} from './statements.ts'
import type { StorageFacts } from './storage-options.ts'

/** Pieces that one read returns. */
const PAGE = 8

/** The member of a failure is an error, or a list of them. */
type Failure = 'error' | 'errors'
/** A response, or an interaction, that is to run after its answer. */
export interface QueuedAnswer {
  /** Of its row. */
  readonly id: string
  readonly storage: StorageFacts
  /** As its client sees it before it is finished. */
  readonly answer: Fields
  /** For the stages that run it. No upstream stores its answer, unless `store` says so. */
  readonly body: Fields
  /** The input that is stored. If it is that of `body`, the stored call leaves it out. */
  readonly input: Json
  /** The name and the value of the slot that says how the answer is stored, without the input. */
  readonly slot: string
  readonly slotValue: Fields
  /** `errors`: the member of a failure is a list. */
  readonly failure: Failure
}
/** The call of a background response. JSON, since the store keeps it. */
export interface StoredCall {
  readonly account: number
  /** Of the response. */
  readonly id: string
  readonly route: string
  /** Of the request; its charge has the same. */
  readonly request: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON, of a call that an earlier version stored; the pieces have that of others. */
  readonly body?: string
  /** Whether the body leaves out `input`, which the response has. */
  readonly sharesInput?: boolean
  /** The name of the slot that leaves out the input, too. Calls of earlier versions have none. */
  readonly slot?: string
  readonly slots: ResumedCall<Exchange>['slots']
  readonly targets: ResumedCall<Exchange>['targets']
  /** Absent: `error`. */
  readonly failure?: Failure
}
/** A call that this process runs. */
export interface BackgroundCall extends StoredCall {
  readonly pieces: RequestPieces
  readonly queuedResponse: Fields
}
/** JSON. */
interface RequestPieces {
  readonly input: readonly string[]
  readonly body: readonly string[]
}

/** `body`: for the stages that run it. `input`: the pieces of the input that is stored. */
export const callOf = async (
  { id: request, route, request: { path, headers }, targets, slots }: Exchange,
  queued: QueuedAnswer,
  body: Fields,
  input: readonly string[],
): Promise<BackgroundCall> => {
  const { id, storage, answer, slot, slotValue, failure } = queued
  const sharesInput = body.input !== undefined && body.input === queued.input
  const { input: _, ...others } = body
  return {
    account: storage.account,
    id,
    route: route.name,
    request,
    path,
    headers: { ...forwardedHeadersOf({ headers }), 'content-type': 'application/json' },
    sharesInput,
    slot,
    slots: { ...slots.toJson(), [slot]: slotValue },
    targets,
    failure,
    pieces: { input, body: await piecesOf({ store: false, ...(sharesInput ? others : body) }) },
    queuedResponse: answer,
  }
}
/** The pieces of the input that is stored. Throws BACKGROUND_TOO_LARGE for more characters than
 *  `largest`. */
export const inputPieces = (input: Json, largest: number): Promise<readonly string[]> =>
  piecesOf(input, size => {
    if (size > largest) throw fault('BACKGROUND_TOO_LARGE', [largest])
  })
/** Stores a queued response with its call. Pieces of a large request are durable before, one after
 *  another; the rest is one transaction with the writes of the exchange. */
export const storeQueued = async (
  { writes }: Pick<Exchange, 'writes'>,
  { pieces, queuedResponse: _, ...call }: BackgroundCall,
  row: ResponseRow,
  { host, process }: Storage,
): Promise<void> => {
  const { database } = host
  const { account, id } = row
  const saved = saveCall(account, id, JSON.stringify(call))
  const list = [
    ...addPieces(account, id, 'input', pieces.input),
    ...addPieces(account, id, 'body', pieces.body),
  ]
  if (pieces.input.length === 1 && pieces.body.length === 1)
    return writes.add(beginResponse(row, process), ...list, saved)
  try {
    await writeWithRetry(database, [beginResponse({ ...row, status: 'begun' }, process)])
    const queue = pieceQueueOf(host)
    for (const each of list) await queue.write(database, each)
  } catch (error) {
    // If the store is away, the row is deleted once this process has ended.
    await writeWithRetry(database, [withdrawResponse(account, id)]).catch(() => {})
    throw error
  }
  writes.add(openResponse(account, id, process), saved)
}
interface Storage {
  readonly host: Pick<Host, 'share'> & { readonly database: Pick<Database, 'write'> }
  /** The process that runs the response. */
  readonly process: string
}

/** Undefined: the response was deleted meanwhile. */
export const readCall = async (
  database: Pick<Database, 'read'>,
  account: number,
  id: string,
): Promise<BackgroundCall | undefined> => {
  const [row] = await database.read(CALL, [account, id])
  if (!row) return undefined
  const call = JSON.parse(String(row.call)) as StoredCall
  const input = await readPieces(database, account, id, 'input')
  const body =
    call.body === undefined ? await readPieces(database, account, id, 'body') : [call.body]
  const queuedResponse = JSON.parse(String(row.response)) as Fields
  return { ...call, pieces: { input, body }, queuedResponse }
}
const readPieces = async (
  database: Pick<Database, 'read'>,
  account: number,
  id: string,
  name: keyof RequestPieces,
): Promise<readonly string[]> => {
  const pieces: string[] = []
  for (let first = 0; pieces.length === first; first += PAGE) {
    const rows = await database.read(PIECES, [account, id, name, first, first + PAGE])
    pieces.push(...rows.map(({ piece }) => String(piece)))
  }
  return pieces
}

/** The body for the stages that run the call. */
export const bodyOf = ({ pieces, sharesInput }: BackgroundCall): Promise<Buffer> => {
  const { input, body } = pieces
  return bytesOf(sharesInput ? withInput(body, input) : body)
}
/** `{…}` with the member `input` at its end. */
const withInput = (body: readonly string[], input: readonly string[]): readonly string[] => [
  ...body.slice(0, -1),
  `${body.at(-1)?.slice(0, -1)},"input":`,
  ...input,
  '}',
]
/** The slots for those stages. The one that says how the answer is stored has the input only where
 *  a conversation is to have it. */
export const slotsOf = ({ pieces, slot, slots }: BackgroundCall): StoredCall['slots'] => {
  if (slot === undefined) return slots
  const { [slot]: value } = slots as Readonly<Record<string, Json>>
  const facts = isFields(value) ? value : {}
  const input = facts.conversation === undefined ? '' : pieces.input.join('')
  return { ...slots, [slot]: { ...facts, input } }
}
