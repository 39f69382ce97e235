/** The sandbox in OpenAI's chat format. */
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

export const openaiChat: SandboxFormat = {
  path: /\/chat\/completions$/,
  readRequest(body) {
    const last = fieldsIn(listIn(body.messages).at(-1))
    const parts = listIn(last.content).map(fieldsIn)
    return {
      model: textIn(body.model),
      text: contentText(last.content),
      images: parts.flatMap(({ image_url }) => textIn(fieldsIn(image_url).url) || []),
      tools: listIn(body.tools).map(tool => {
        const { name, parameters = {} } = fieldsIn(fieldsIn(tool).function)
        return { name: textIn(name), schema: parameters }
      }),
      toolResult: last.role === 'tool' ? contentText(last.content) : undefined,
      stream: body.stream === true,
      limit: numberIn(body.max_completion_tokens) ?? numberIn(body.max_tokens),
      size: JSON.stringify(body.messages ?? '').length,
    }
  },
  encodeAnswer: (answer, serial) => ({
    ...head(answer, serial, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: answer.call ? null : answer.chunks.join(''),
          refusal: null,
          ...(answer.call && { tool_calls: [call(answer, serial)] }),
        },
        logprobs: null,
        finish_reason: finishReasonOf(answer),
      },
    ],
    usage: usage(answer),
  }),
  encodeStream(answer, serial, body) {
    const includesUsage = fieldsIn(body.stream_options).include_usage === true
    const chunk = (delta: Json, finish_reason: string | null = null): Bytes =>
      writeEvent(undefined, {
        ...head(answer, serial, 'chat.completion.chunk'),
        choices: [{ index: 0, delta, logprobs: null, finish_reason }],
        ...(includesUsage && { usage: null }),
      })
    const total = {
      ...head(answer, serial, 'chat.completion.chunk'),
      choices: [],
      usage: usage(answer),
    }
    return [
      chunk({ role: 'assistant', content: answer.call ? null : '', refusal: null }),
      ...answer.chunks.map(content => chunk({ content })),
      ...callDeltas(answer, serial).map(delta => chunk({ tool_calls: [delta] })),
      chunk({}, finishReasonOf(answer)),
      ...(includesUsage ? [writeEvent(undefined, total)] : []),
      Buffer.from('data: [DONE]\n\n'),
    ]
  },
}

const head = (
  { model }: CannedAnswer,
  { id, createdAt: at }: AnswerId,
  object: string,
): Fields => ({
  id: `chatcmpl-${id}`,
  object,
  created: at,
  model,
  service_tier: 'default',
  system_fingerprint: 'fp_sandbox',
})
const finishReasonOf = ({ call, isTruncated }: CannedAnswer): string =>
  call ? 'tool_calls' : isTruncated ? 'length' : 'stop'
const call = (answer: CannedAnswer, { id }: AnswerId): Json => ({
  id: `call_${id}`,
  type: 'function',
  function: { name: answer.call?.name ?? '', arguments: JSON.stringify(answer.call?.input) },
})
const callDeltas = (answer: CannedAnswer, serial: AnswerId): readonly Json[] => {
  if (!answer.call) return []
  const whole = fieldsIn(call(answer, serial))
  const { name, arguments: text } = fieldsIn(whole.function)
  const first = { index: 0, ...whole, function: { name: name ?? '', arguments: '' } }
  const pieces = textIn(text).match(/.{1,12}/gs) ?? []
  return [first, ...pieces.map(piece => ({ index: 0, function: { arguments: piece } }))]
}
const usage = ({ inputTokens: input, outputTokens: output }: CannedAnswer): Json => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 0,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
})
