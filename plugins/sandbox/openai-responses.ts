/** The sandbox in OpenAI's responses format. */
import type { Bytes, Json } from '../../engine/plugin.ts'
import { writeEvent } from '../formats/sse.ts'
import type { Play } from './play.ts'
import {
  type Fields,
  fieldsIn,
  listIn,
  numberIn,
  type Serial,
  textIn,
  type Voice,
  wordsIn,
} from './voice.ts'

export const openaiResponses: Voice = {
  path: /\/responses$/,
  ask(body) {
    const last = fieldsIn(listIn(body.input).at(-1))
    const functions = listIn(body.tools)
      .map(fieldsIn)
      .filter(({ type }) => type === 'function')
    return {
      model: textIn(body.model),
      words: textIn(body.input) || wordsIn(last.content),
      images: listIn(last.content).flatMap(part => textIn(fieldsIn(part).image_url) || []),
      tools: functions.map(({ name, parameters = {} }) => ({
        name: textIn(name),
        schema: parameters,
      })),
      result: last.type === 'function_call_output' ? textIn(last.output) : undefined,
      stream: body.stream === true,
      limit: numberIn(body.max_output_tokens),
      size: JSON.stringify(body.input ?? '').length,
    }
  },
  plain: (play, serial) => response(play, serial, play.cut ? 'incomplete' : 'completed'),
  stream(play, serial) {
    const item = itemOf(play, serial, 'completed')
    const begun = { ...itemOf({ ...play, words: [] }, serial, 'in_progress'), ...EMPTY[kind(play)] }
    const place = { item_id: fieldsIn(item).id ?? '', output_index: 0 }
    const last = play.cut ? 'incomplete' : 'completed'
    const opened = response({ ...play, words: [] }, serial, 'in_progress')
    const list: readonly Fields[] = [
      { type: 'response.created', response: opened },
      { type: 'response.in_progress', response: opened },
      { type: 'response.output_item.added', output_index: 0, item: begun },
      ...(play.call ? callEvents(play, place) : textEvents(play, place)),
      { type: 'response.output_item.done', output_index: 0, item },
      { type: `response.${last}`, response: response(play, serial, last) },
    ]
    return list.map(numbered)
  },
}

const kind = ({ call }: Play): 'message' | 'function_call' => (call ? 'function_call' : 'message')
/** An item before anything of it was said. */
const EMPTY = { message: { content: [] }, function_call: { arguments: '' } } as const

const numbered = (event: Fields, index: number): Bytes => {
  const { type, ...rest } = event
  return writeEvent(textIn(type), { type, sequence_number: index, ...rest } as Fields)
}

const textEvents = ({ words }: Play, place: Fields): readonly Fields[] => {
  const at = { ...place, content_index: 0 }
  const part = (text: string): Json => ({
    type: 'output_text',
    text,
    annotations: [],
    logprobs: [],
  })
  const text = words.join('')
  return [
    { type: 'response.content_part.added', ...at, part: part('') },
    ...words.map(delta => ({ type: 'response.output_text.delta', ...at, delta, logprobs: [] })),
    { type: 'response.output_text.done', ...at, text, logprobs: [] },
    { type: 'response.content_part.done', ...at, part: part(text) },
  ]
}
const callEvents = ({ call }: Play, place: Fields): readonly Fields[] => {
  const given = JSON.stringify(call?.input)
  const pieces = given.match(/.{1,12}/gs) ?? []
  return [
    ...pieces.map(delta => ({ type: 'response.function_call_arguments.delta', ...place, delta })),
    { type: 'response.function_call_arguments.done', ...place, arguments: given },
  ]
}

const itemOf = ({ words, call }: Play, { id }: Serial, status: string): Fields =>
  call
    ? {
        id: `fc_${id}`,
        type: 'function_call',
        status,
        arguments: JSON.stringify(call.input),
        call_id: `call_${id}`,
        name: call.name,
      }
    : {
        id: `msg_${id}`,
        type: 'message',
        status,
        role: 'assistant',
        content: [{ type: 'output_text', text: words.join(''), annotations: [], logprobs: [] }],
      }

const response = (play: Play, serial: Serial, status: string): Fields => ({
  id: `resp_${serial.id}`,
  object: 'response',
  created_at: serial.at,
  status,
  background: false,
  error: null,
  incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
  instructions: null,
  max_output_tokens: null,
  model: play.model,
  output: status === 'in_progress' ? [] : [itemOf(play, serial, status)],
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  store: false,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  truncation: 'disabled',
  usage: status === 'in_progress' ? null : usage(play),
  metadata: {},
})
const usage = ({ input, output }: Play): Json => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: input + output,
})
