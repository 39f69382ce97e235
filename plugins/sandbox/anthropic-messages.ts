/** The sandbox in Anthropic's messages format. */
import type { Json } from '../../engine/plugin.ts'
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

export const anthropicMessages: SandboxFormat = {
  path: /\/messages$/,
  readRequest(body) {
    const { content } = fieldsIn(listIn(body.messages).at(-1))
    const blocks = listIn(content).map(fieldsIn)
    const result = blocks.find(({ type }) => type === 'tool_result')
    return {
      model: textIn(body.model),
      text: contentText(content),
      images: blocks.flatMap(({ source }) => imageIn(fieldsIn(source))),
      tools: listIn(body.tools).map(tool => {
        const { name, input_schema = {} } = fieldsIn(tool)
        return { name: textIn(name), schema: input_schema }
      }),
      toolResult: result && contentText(result.content),
      stream: body.stream === true,
      limit: numberIn(body.max_tokens),
      size: JSON.stringify([body.system ?? '', body.messages ?? '']).length,
    }
  },
  encodeAnswer: (answer, serial) => ({
    ...message(answer, serial),
    content: [block(answer, serial)],
    stop_reason: stopReasonOf(answer),
    usage: { ...READ, input_tokens: answer.inputTokens, output_tokens: answer.outputTokens },
  }),
  encodeStream(answer, serial) {
    const startMessage = {
      ...message(answer, serial),
      usage: { ...READ, input_tokens: answer.inputTokens, output_tokens: 1 },
    }
    const list: readonly Fields[] = [
      { type: 'message_start', message: startMessage },
      { type: 'content_block_start', index: 0, content_block: clearBlock(block(answer, serial)) },
      { type: 'ping' },
      ...deltas(answer).map(delta => ({ type: 'content_block_delta', index: 0, delta })),
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: stopReasonOf(answer), stop_sequence: null },
        usage: { ...READ, input_tokens: answer.inputTokens, output_tokens: answer.outputTokens },
      },
      { type: 'message_stop' },
    ]
    return list.map(event => writeEvent(textIn(event.type), event))
  },
}

const READ = { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }

const imageIn = ({ type, media_type, data, url }: Fields): string | [] => {
  if (type === 'base64') return `data:${textIn(media_type)};base64,${textIn(data)}`
  return textIn(url) || []
}
const message = ({ model }: CannedAnswer, { id }: AnswerId): Fields => ({
  id: `msg_${id}`,
  type: 'message',
  role: 'assistant',
  model,
  content: [],
  stop_reason: null,
  stop_sequence: null,
})
const block = ({ chunks, call }: CannedAnswer, { id }: AnswerId): Fields =>
  call
    ? { type: 'tool_use', id: `toolu_${id}`, name: call.name, input: call.input }
    : { type: 'text', text: chunks.join('') }
const clearBlock = (whole: Fields): Json =>
  whole.type === 'text' ? { ...whole, text: '' } : { ...whole, input: {} }
const deltas = ({ chunks, call }: CannedAnswer): readonly Json[] =>
  call
    ? (JSON.stringify(call.input).match(/.{1,12}/gs) ?? []).map(partial_json => ({
        type: 'input_json_delta',
        partial_json,
      }))
    : chunks.map(text => ({ type: 'text_delta', text }))
const stopReasonOf = ({ call, isTruncated }: CannedAnswer): string =>
  call ? 'tool_use' : isTruncated ? 'max_tokens' : 'end_turn'
