/** Texts in events of the realtime format, as JSON. Pure. */
import type { Json } from '../../engine/plugin.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import { mapInput } from '../formats/hub/text.ts'

/** Members that are text a person or a model writes. `arguments` is JSON. */
const TEXTS: ReadonlySet<string> = new Set(['text', 'transcript', 'instructions', 'output'])
const ARGUMENTS = 'arguments'

type MapText = (text: string) => string
/** The event with other texts. */
export const mapEventTexts = (event: Fields, map: MapText): Fields =>
  mapMembers(event, map) as Fields
const mapMembers = (value: Json, map: MapText): Json => {
  if (Array.isArray(value)) return value.map(each => mapMembers(each, map))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, mapMember(name, member, map)]),
  )
}
const mapMember = (name: string, member: Json, map: MapText): Json => {
  if (typeof member !== 'string') return mapMembers(member, map)
  if (name === ARGUMENTS) return mapInput({ input: member }, map)
  return TEXTS.has(name) ? map(member) : member
}

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
const blockOf = ({ item_id: item, content_index: index }: Fields, kind: string): string =>
  `${kind} ${String(item)} ${String(index)}`

/** Whether the texts are those of the client: its own messages, and transcripts of its speech. */
export const isInput = ({ type, item }: Fields): boolean => {
  if (String(type).includes('input_audio_transcription')) return true
  return isFields(item) && (item.role === 'user' || item.role === 'system')
}
