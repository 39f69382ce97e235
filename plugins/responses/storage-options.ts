/** Storage options of a request, and the statements that store its response. Pure. */
import type { Exchange, Json, Slot, Statement } from '../../engine/plugin.ts'
import type { Owner } from '../credentials/members.ts'
import { type Fields, isFields, lenientObject, lenientText } from '../formats/fields.ts'
import { itemsOf } from '../formats/openai-responses/history.ts'
import { Undo } from '../undo/undo.ts'
import { addTurn, withdrawTurn } from './conversation-statements.ts'
import { fault } from './faults.ts'
import {
  finishResponse,
  forgetCall,
  indexItems,
  saveResponse,
  withdrawResponse,
} from './statements.ts'

/** Lifetime, ms, and size limit of one response, bytes. */
export interface StorageLimits {
  readonly lifetime: number
  readonly largest: number
}

/** The storage options that a client sent. */
export interface StorageOptions {
  readonly store: boolean
  readonly background: boolean
  readonly previous?: string
  readonly conversation?: string
}
export const readStorageOptions = (body: Fields): StorageOptions => {
  const previous = lenientText(body, 'previous_response_id')
  const { conversation: value } = body
  const conversation = isFields(value)
    ? lenientText(value, 'id')
    : lenientText(body, 'conversation')
  const store = body.store !== false
  if (previous !== undefined && conversation !== undefined) throw fault('CONTEXT_TWICE')
  const background = readBackground(body)
  const window = lenientText(lenientObject(body, 'background_options'), 'completion_window')
  if (background && window !== undefined && window !== 'soonest') throw fault('BACKGROUND_WINDOW')
  return {
    store,
    background,
    ...(previous !== undefined && { previous }),
    ...(conversation !== undefined && { conversation }),
  }
}

/** Whether the call runs after its client is answered. */
export const readBackground = ({ background, store, stream }: Fields): boolean => {
  if (background !== true) return false
  if (store === false) throw fault('BACKGROUND_UNSTORED')
  if (stream === true) throw fault('BACKGROUND_STREAM')
  return true
}

/** The values that store a response. JSON, since the background call receives them in a slot. */
export interface StorageRequest extends StorageFacts {
  /** JSON, as the client sent it; empty in the background outside a conversation, where it is
   *  stored already. */
  readonly input: string
  /** Of a background response: its id, and the request members that its response repeats. */
  readonly background?: { readonly id: string; readonly echo: Fields }
}
export interface StorageFacts extends Owner {
  /** ms. */
  readonly created: number
  readonly previous?: string
  readonly conversation?: string
}
export const STORAGE: Slot<StorageRequest> = { name: 'responses', keep: true }

/** Ids come from the gateway or an upstream; the store accepts only these characters. */
const ID = /^[\w.:-]{1,256}$/
export const isId = (id: string): boolean => ID.test(id)

/** The statements that store a response. Empty if the id is invalid or the response is above the
 *  size limit. */
export const storeStatements = (
  request: StorageRequest,
  answer: Fields,
  { lifetime, largest }: StorageLimits,
): readonly Statement[] => {
  const { account, maker, created, input, previous, conversation, background } = request
  // The upstream was asked not to store the response and reports that; the gateway stores it.
  const storedResponse: Fields = {
    ...answer,
    store: true,
    ...(background && { ...background.echo, id: background.id }),
  }
  const [id, status] = [
    lenientText(storedResponse, 'id') ?? '',
    lenientText(storedResponse, 'status') ?? 'completed',
  ]
  const response = JSON.stringify(storedResponse)
  // The input of a background response was bounded before it ran.
  const size = background ? response.length : input.length + response.length
  if (!isId(id) || size > largest) return []
  const expires = created + lifetime
  const facts = { id, created, expires, previous, conversation, status, input, response }
  return [
    ...(background
      ? [finishResponse(account, id, status, response), forgetCall(account, id)]
      : [saveResponse({ account, maker, ...facts })]),
    ...itemStatements(account, id, storedResponse),
    ...(conversation === undefined
      ? []
      : addTurn(
          { account, id: conversation, expires: Date.now() + lifetime },
          { id, created, items: JSON.stringify(turnItems(input, storedResponse.output)) },
        )),
  ]
}
/** Removes what `storeStatements` stored where the client is told that its request failed. */
export const undoStored = (
  exchange: Exchange,
  { account, conversation }: StorageRequest,
  id: string,
): void => {
  const turn = conversation === undefined ? [] : [withdrawTurn(account, conversation, id)]
  Undo.of(exchange).add({ undo: [withdrawResponse(account, id), ...turn] })
}
const itemStatements = (account: number, id: string, { output }: Fields): readonly Statement[] => {
  const names = itemsOf(output).flatMap(item => lenientText(item, 'id') ?? [])
  const ids = [...new Set(names.filter(isId))]
  return ids.length > 0 ? [indexItems(account, id, ids)] : []
}
const turnItems = (input: string, output: Json | undefined): readonly Fields[] => [
  ...itemsOf(JSON.parse(input) as Json),
  ...itemsOf(output),
]
