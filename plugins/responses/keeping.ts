/** What one request says about being kept and continued, and what that comes to as statements. Pure. */
import type { Json, Slot, Statement } from '../../engine/plugin.ts'
import { type Fields, isFields, wordIn } from '../formats/fields.ts'
import { itemsOf } from '../formats/openai-responses/history.ts'
import { addTurn } from './conversation-statements.ts'
import { fault } from './faults.ts'
import { finishResponse, keepResponse, nameItems } from './statements.ts'

/** How long, ms, and how much of one response, bytes. */
export interface Limits {
  readonly kept: number
  readonly largest: number
}

/** What a client asks for, beyond an answer. */
export interface Asked {
  readonly store: boolean
  readonly background: boolean
  readonly previous?: string
  readonly conversation?: string
}
export const askedOf = (body: Fields): Asked => {
  const previous = wordIn(body, 'previous_response_id')
  const { conversation: given } = body
  const conversation = isFields(given) ? wordIn(given, 'id') : wordIn(body, 'conversation')
  const store = body.store !== false
  const background = body.background === true
  if (previous !== undefined && conversation !== undefined) throw fault('CONTEXT_TWICE')
  if (background && !store) throw fault('BACKGROUND_UNSTORED')
  if (background && body.stream === true) throw fault('BACKGROUND_STREAM')
  return {
    ...{ store, background },
    ...(previous !== undefined && { previous }),
    ...(conversation !== undefined && { conversation }),
  }
}

/** What is to be kept once there is an answer. JSON, since it travels with a response in the background. */
export interface Keeping {
  readonly account: number
  /** ms. */
  readonly created: number
  /** JSON: as its client sent it. */
  readonly input: string
  readonly previous?: string
  readonly conversation?: string
  /** Of a response in the background: its id, and what its answer repeats of the request. */
  readonly made?: { readonly id: string; readonly echo: Fields }
}
export const KEEPING: Slot<Keeping> = { name: 'responses', keep: true }

/** Ids are ours or an upstream's: nothing that a store could choke on. */
const ID = /^[\w.:-]{1,256}$/
export const isId = (id: string): boolean => ID.test(id)

/** Nothing, where it is no response or more than is kept. */
export const kept = (
  keeping: Keeping,
  told: Fields,
  { kept: time, largest }: Limits,
): readonly Statement[] => {
  const { account, created, input, previous, conversation, made } = keeping
  // Its upstream was asked to keep nothing, and says so; it is kept here.
  const whole: Fields = { ...told, store: true, ...(made && { ...made.echo, id: made.id }) }
  const [id, status] = [wordIn(whole, 'id') ?? '', wordIn(whole, 'status') ?? 'completed']
  const response = JSON.stringify(whole)
  if (!isId(id) || input.length + response.length > largest) return []
  const expires = created + time
  const row = { account, id, created, expires, previous, conversation, status, input, response }
  return [
    made ? finishResponse(account, id, status, response) : keepResponse(row),
    ...named(account, id, whole),
    ...(conversation === undefined
      ? []
      : addTurn(
          { account, id: conversation, expires: Date.now() + time },
          { id, created, items: JSON.stringify(said(input, whole.output)) },
        )),
  ]
}
const named = (account: number, id: string, { output }: Fields): readonly Statement[] => {
  const names = itemsOf(output).flatMap(item => wordIn(item, 'id') ?? [])
  const known = [...new Set(names.filter(isId))]
  return known.length > 0 ? [nameItems(account, id, known)] : []
}
const said = (input: string, output: Json | undefined): readonly Fields[] => [
  ...itemsOf(JSON.parse(input) as Json),
  ...itemsOf(output),
]
