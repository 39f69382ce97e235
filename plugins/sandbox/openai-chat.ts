/** The sandbox in OpenAI's chat format. */
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

export const openaiChat: Voice = {
  path: /\/chat\/completions$/,
  ask(body) {
    const last = fieldsIn(listIn(body.messages).at(-1))
    const parts = listIn(last.content).map(fieldsIn)
    return {
      model: textIn(body.model),
      words: wordsIn(last.content),
      images: parts.flatMap(({ image_url }) => textIn(fieldsIn(image_url).url) || []),
      tools: listIn(body.tools).map(tool => {
        const { name, parameters = {} } = fieldsIn(fieldsIn(tool).function)
        return { name: textIn(name), schema: parameters }
      }),
      result: last.role === 'tool' ? wordsIn(last.content) : undefined,
      stream: body.stream === true,
      limit: numberIn(body.max_completion_tokens) ?? numberIn(body.max_tokens),
      size: JSON.stringify(body.messages ?? '').length,
    }
  },
  plain: (play, serial) => ({
    ...head(play, serial, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: play.call ? null : play.words.join(''),
          refusal: null,
          ...(play.call && { tool_calls: [call(play, serial)] }),
        },
        logprobs: null,
        finish_reason: finish(play),
      },
    ],
    usage: usage(play),
  }),
  stream(play, serial, body) {
    const counted = fieldsIn(body.stream_options).include_usage === true
    const chunk = (delta: Json, finish_reason: string | null = null): Bytes =>
      writeEvent(undefined, {
        ...head(play, serial, 'chat.completion.chunk'),
        choices: [{ index: 0, delta, logprobs: null, finish_reason }],
        ...(counted && { usage: null }),
      })
    const total = {
      ...head(play, serial, 'chat.completion.chunk'),
      choices: [],
      usage: usage(play),
    }
    return [
      chunk({ role: 'assistant', content: play.call ? null : '', refusal: null }),
      ...play.words.map(content => chunk({ content })),
      ...callDeltas(play, serial).map(delta => chunk({ tool_calls: [delta] })),
      chunk({}, finish(play)),
      ...(counted ? [writeEvent(undefined, total)] : []),
      Buffer.from('data: [DONE]\n\n'),
    ]
  },
}

const head = ({ model }: Play, { id, at }: Serial, object: string): Fields => ({
  id: `chatcmpl-${id}`,
  object,
  created: at,
  model,
  service_tier: 'default',
  system_fingerprint: 'fp_sandbox',
})
const finish = ({ call, cut }: Play): string => (call ? 'tool_calls' : cut ? 'length' : 'stop')
const call = (play: Play, { id }: Serial): Json => ({
  id: `call_${id}`,
  type: 'function',
  function: { name: play.call?.name ?? '', arguments: JSON.stringify(play.call?.input) },
})
const callDeltas = (play: Play, serial: Serial): readonly Json[] => {
  if (!play.call) return []
  const whole = fieldsIn(call(play, serial))
  const { name, arguments: given } = fieldsIn(whole.function)
  const first = { index: 0, ...whole, function: { name: name ?? '', arguments: '' } }
  const pieces = textIn(given).match(/.{1,12}/gs) ?? []
  return [first, ...pieces.map(piece => ({ index: 0, function: { arguments: piece } }))]
}
const usage = ({ input, output }: Play): Json => ({
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
