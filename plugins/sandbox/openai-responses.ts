/** The sandbox in OpenAI's responses format. */
import type { Bytes, Json } from '../../engine/plugin.ts'
import { writeEvent } from '../formats/sse.ts'
import type { CannedAnswer } from './canned-answer.ts'
import {
  type AnswerId,
  contentText,
  type Fields,
  fieldsIn,
  listIn,
  numberIn,
  type SandboxFormat,
  textIn,
} from './sandbox-format.ts'

export const openaiResponses: SandboxFormat = {
  path: /\/responses$/,
  readRequest(body) {
    const last = fieldsIn(listIn(body.input).at(-1))
    const functions = listIn(body.tools)
      .map(fieldsIn)
      .filter(({ type }) => type === 'function')
    return {
      model: textIn(body.model),
      text: textIn(body.input) || contentText(last.content),
      images: listIn(last.content).flatMap(part => textIn(fieldsIn(part).image_url) || []),
      tools: functions.map(({ name, parameters = {} }) => ({
        name: textIn(name),
        schema: parameters,
      })),
      toolResult: last.type === 'function_call_output' ? textIn(last.output) : undefined,
      stream: body.stream === true,
      limit: numberIn(body.max_output_tokens),
      size: JSON.stringify(body.input ?? '').length,
    }
  },
  encodeAnswer: (answer, serial) =>
    response(answer, serial, answer.isTruncated ? 'incomplete' : 'completed'),
  encodeStream(answer, serial) {
    const item = itemOf(answer, serial, 'completed')
    const startedItem = {
      ...itemOf({ ...answer, chunks: [] }, serial, 'in_progress'),
      ...EMPTY[kind(answer)],
    }
    const place = { item_id: fieldsIn(item).id ?? '', output_index: 0 }
    const last = answer.isTruncated ? 'incomplete' : 'completed'
    const startedResponse = response({ ...answer, chunks: [] }, serial, 'in_progress')
    const list: readonly Fields[] = [
      { type: 'response.created', response: startedResponse },
      { type: 'response.in_progress', response: startedResponse },
      { type: 'response.output_item.added', output_index: 0, item: startedItem },
      ...(answer.call ? callEvents(answer, place) : textEvents(answer, place)),
      { type: 'response.output_item.done', output_index: 0, item },
      { type: `response.${last}`, response: response(answer, serial, last) },
    ]
    return list.map(writeNumberedEvent)
  },
}

const kind = ({ call }: CannedAnswer): 'message' | 'function_call' =>
  call ? 'function_call' : 'message'
/** The members of an item before its content was streamed. */
const EMPTY = { message: { content: [] }, function_call: { arguments: '' } } as const

const writeNumberedEvent = (event: Fields, index: number): Bytes => {
  const { type, ...rest } = event
  return writeEvent(textIn(type), { type, sequence_number: index, ...rest } as Fields)
}

const textEvents = ({ chunks }: CannedAnswer, place: Fields): readonly Fields[] => {
  const at = { ...place, content_index: 0 }
  const part = (text: string): Json => ({
    type: 'output_text',
    text,
    annotations: [],
    logprobs: [],
  })
  const text = chunks.join('')
  return [
    { type: 'response.content_part.added', ...at, part: part('') },
    ...chunks.map(delta => ({ type: 'response.output_text.delta', ...at, delta, logprobs: [] })),
    { type: 'response.output_text.done', ...at, text, logprobs: [] },
    { type: 'response.content_part.done', ...at, part: part(text) },
  ]
}
const callEvents = ({ call }: CannedAnswer, place: Fields): readonly Fields[] => {
  const text = JSON.stringify(call?.input)
  const pieces = text.match(/.{1,12}/gs) ?? []
  return [
    ...pieces.map(delta => ({ type: 'response.function_call_arguments.delta', ...place, delta })),
    { type: 'response.function_call_arguments.done', ...place, arguments: text },
  ]
}

const itemOf = ({ chunks, call }: CannedAnswer, { id }: AnswerId, status: string): Fields =>
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
        content: [{ type: 'output_text', text: chunks.join(''), annotations: [], logprobs: [] }],
      }

const response = (answer: CannedAnswer, serial: AnswerId, status: string): Fields => ({
  id: `resp_${serial.id}`,
  object: 'response',
  created_at: serial.createdAt,
  status,
  background: false,
  error: null,
  incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
  instructions: null,
  max_output_tokens: null,
  model: answer.model,
  output: status === 'in_progress' ? [] : [itemOf(answer, serial, status)],
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
  usage: status === 'in_progress' ? null : usage(answer),
  metadata: {},
})
const usage = ({ inputTokens: input, outputTokens: output }: CannedAnswer): Json => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: input + output,
})
