/** Texts in events of the realtime format, as JSON. Pure. */
import type { Json } from '../../engine/plugin.ts'
import { type Fields, isFields, lenientObject } from '../formats/fields.ts'
import { mapInput } from '../formats/hub/text.ts'

/** Members that are text a person or a model writes. `arguments` is JSON. */
const TEXTS: ReadonlySet<string> = new Set([
  'text',
  'transcript',
  'instructions',
  'output',
  // Of an item and of a response: a text in place of a list.
  'content',
  'input',
  // Of a transcription.
  'prompt',
])
const ARGUMENTS = 'arguments'
/** Of a stored prompt: values by name. */
const VARIABLES = 'variables'

type MapText = (text: string) => string
/** The event with other texts. */
export const mapEventTexts = (event: Fields, map: MapText): Fields =>
  mapMembers(event, map) as Fields
export const textsOfEvent = (event: Fields): ReadonlySet<string> => {
  const texts = new Set<string>()
  mapEventTexts(event, text => {
    texts.add(text)
    return text
  })
  return texts
}
const mapMembers = (value: Json, map: MapText): Json => {
  if (Array.isArray(value)) return value.map(each => mapMembers(each, map))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, mapMember(name, member, map)]),
  )
}
const mapMember = (name: string, member: Json, map: MapText): Json => {
  if (name === VARIABLES && isFields(member)) return mapVariables(member, map)
  if (typeof member !== 'string') return mapMembers(member, map)
  if (name === ARGUMENTS) return mapInput({ input: member }, map)
  return TEXTS.has(name) ? map(member) : member
}

const mapVariables = (variables: Fields, map: MapText): Json =>
  Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [
      name,
      typeof value === 'string' ? map(value) : mapMembers(value, map),
    ]),
  )

/** A piece of a text that grows. `block`: which text; `isArguments`: it is JSON of a call. */
export interface Delta {
  readonly block: string
  readonly text: string
  readonly isArguments: boolean
  readonly isInput: boolean
}
const DELTA = '.delta'
/** Base64 of sounds. */
const AUDIO = /[._]audio\.delta$/

/** Undefined: the event has no piece of text. */
export const deltaOf = (event: Fields): Delta | undefined => {
  const { type, delta } = event
  if (typeof type !== 'string' || typeof delta !== 'string') return undefined
  if (!type.endsWith(DELTA) || AUDIO.test(type)) return undefined
  return {
    block: blockOf(event, type.slice(0, -DELTA.length)),
    text: delta,
    isArguments: type.includes('_arguments'),
    isInput: isInput(event),
  }
}
/** The text that an event completes: `response.output_text.done` that of its deltas. */
export const completedBlockOf = (event: Fields): string =>
  blockOf(event, String(event.type).replace(/\.[a-z]+$/, ''))
const blockOf = (event: Fields, kind: string): string => {
  const { response_id: response, item_id: item, content_index: index } = event
  return [kind, response, item, index].map(String).join(' ')
}
/** Whether an event is of the response that `done` ends. Several may run, and transcripts of the
 *  client's speech belong to none. */
export const isOfResponse = (event: Fields, done: Fields): boolean => {
  const { id, output } = lenientObject(done, 'response')
  if (event.response_id !== undefined) return event.response_id === id
  return Array.isArray(output) && output.some(item => isFields(item) && item.id === event.item_id)
}

/** Whether the texts are those of the client: its own messages, and transcripts of its speech. */
export const isInput = ({ type, item }: Fields): boolean => {
  if (String(type).includes('input_audio_transcription')) return true
  return isFields(item) && (item.role === 'user' || item.role === 'system')
}
