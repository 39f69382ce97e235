/** Cohere's chat, version 2, for targets only: typed events, `message-end` last, thoughts and plans
 *  as content, and citations of documents. */
import { isFields } from '../fields.ts'
import type { TargetFormat } from '../format.ts'
import type { ToolNameRule } from '../hub/codec.ts'
import { decodeErrorReply } from '../openai-error-reply.ts'
import { servedOf } from '../served.ts'
import { compileTextPattern } from '../stream/text-pattern.ts'
import { decodeStream } from './decode-stream.ts'
import { answers, carriesContent, errorOf } from './errors.ts'
import { encodePrompt } from './request.ts'
import { decodeAnswer } from './response.ts'
import { countsIn, metersOf, ownNames } from './usage.ts'

const TEXT = compileTextPattern({
  text: ['text', 'thinking', 'tool_plan', 'arguments'],
  exclusions: ['citations', 'usage'],
})

const NAME = 'cohere-chat'
const NAME_RULE: ToolNameRule = { invalid: /[^A-Za-z0-9_-]/g, maxLength: 64 }

export const cohereChat: TargetFormat = {
  name: NAME,
  usage: {
    key: 'usage',
    inEvent: ({ delta }) => countsIn(isFields(delta) ? delta : {}),
    inAnswer: countsIn,
    meters: metersOf,
    ownNames,
    sums: { input: ['input_tokens'], output: ['output_tokens'] },
    text: { plain: TEXT, events: TEXT },
    counts: ['input', 'cached', 'output'],
  },
  served: { members: ['id'], read: ({ id }) => servedOf(id, undefined) },
  stream: { error: errorOf, carriesContent },
  answers,
  codec: {
    encodePrompt,
    decodeAnswer,
    decodeStream,
    decodeError: decodeErrorReply,
    tools: { format: NAME, names: NAME_RULE, runs: () => false },
  },
}
