/** The sandbox in the formats of conversations: the formats of the gateway decode the request and
 *  encode the answer. */
import type { Attempt, Bytes } from '../../engine/plugin.ts'
import { fault } from '../formats/faults.ts'
import type { Fields } from '../formats/fields.ts'
import type { Answer, Part } from '../formats/hub/answer.ts'
import { partsOf } from '../formats/hub/answer-parts.ts'
import type { Codec, EncodeContext } from '../formats/hub/codec.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { formats } from '../formats/index.ts'
import { estimatePromptTokens } from '../formats/prompt-tokens.ts'
import { CONTENT_TYPE } from '../formats/stream/aws-event-stream.ts'
import { cannedAnswer, type ProviderHabits } from './canned-answer.ts'
import { type AnswerId, textIn } from './sandbox-format.ts'
import { cohereEncoder, converseEncoder, writeCohere, writeConverse } from './target-answer.ts'
import { readCohere, readConverse } from './target-prompt.ts'
import { wordsOf } from './words.ts'

interface ConversationFormat extends ProviderHabits {
  /** Matches the paths of its requests. */
  readonly path: RegExp
  readonly format: string
  /** The header in which the provider sends the id of the request. */
  readonly idHeader?: string
}
const CONVERSATIONS: readonly ConversationFormat[] = [
  { path: /\/chat\/completions$/, format: 'openai-chat', showsThoughts: true },
  { path: /\/completions$/, format: 'openai-completions' },
  { path: /\/responses\/compact$/, format: 'openai-compaction' },
  {
    path: /\/responses$/,
    format: 'openai-responses',
    keepsHiddenThoughts: true,
    signedContent: ({ body: { include } }) =>
      Array.isArray(include) && include.includes('reasoning.encrypted_content')
        ? 'thought'
        : undefined,
  },
  {
    path: /\/messages$/,
    format: 'anthropic-messages',
    idHeader: 'request-id',
    showsThoughts: true,
    keepsHiddenThoughts: true,
    signedContent: () => 'thought',
    callPrefix: 'toolu_',
  },
  {
    path: /:(?:stream)?[gG]enerateContent$/,
    format: 'google-gemini',
    signedContent: () => 'call',
  },
  {
    path: /\/interactions$/,
    format: 'google-interactions',
    showsThoughts: true,
  },
  {
    path: /\/model\/[^/]+\/converse(?:-stream)?$/,
    format: 'bedrock-converse',
    showsThoughts: true,
    signedContent: () => 'thought',
    callPrefix: 'tooluse_',
  },
  { path: /\/v2\/chat$/, format: 'cohere-chat', showsThoughts: true },
]
/** How the sandbox reads and writes a format. */
interface SandboxCodec {
  decodePrompt(body: Fields, path: string): Prompt
  encodeAnswer(answer: Answer, context: EncodeContext): Fields
  /** Encodes the parts of one stream. `answer`: the whole of it. */
  streamEncoder(answer: Answer, context: EncodeContext): StreamWriter
}
interface StreamWriter {
  readonly type: string
  push(part: Part): readonly Bytes[]
}
const codecFor = (codec: Codec): SandboxCodec => ({
  decodePrompt: (body, path) => codec.decodePrompt(body, path, { add: () => undefined }),
  encodeAnswer: codec.encodeAnswer,
  streamEncoder: (_, context) => {
    const encoder = codec.encodeStream(context)
    const push = (part: Part): readonly Bytes[] => [Buffer.from(encoder.push(part))]
    return { type: encoder.type ?? 'text/event-stream', push }
  },
})
/** Formats that only targets use. */
const TARGET_CODECS: Readonly<Record<string, SandboxCodec>> = {
  'bedrock-converse': {
    decodePrompt: readConverse,
    encodeAnswer: writeConverse,
    streamEncoder: answer => ({ type: CONTENT_TYPE, push: converseEncoder(answer) }),
  },
  'cohere-chat': {
    decodePrompt: readCohere,
    encodeAnswer: (answer, { id }) => writeCohere(answer, id),
    streamEncoder: (answer, { id }) => ({
      type: 'text/event-stream',
      push: cohereEncoder(answer, id),
    }),
  },
}
export type Conversation = ConversationFormat & { readonly codec: SandboxCodec }
/** Undefined: requests of this path are not conversations. */
export const conversationAt = (path: string): Conversation | undefined => {
  const conversation = CONVERSATIONS.find(each => each.path.test(path))
  if (!conversation) return undefined
  const codec = formats.get(conversation.format)?.codec
  const sandboxCodec = codec ? codecFor(codec) : TARGET_CODECS[conversation.format]
  return sandboxCodec && { ...conversation, codec: sandboxCodec }
}

/** A whole answer, or the chunks of a stream. */
export type ConversationAnswer =
  | { readonly body: Fields }
  | { readonly chunks: readonly Bytes[]; readonly type: string }

/** Throws the fault of the format if the request is invalid. */
export const answerConversation = (
  { request, target }: Pick<Attempt, 'request' | 'target'>,
  body: Fields,
  conversation: Conversation,
  { id, createdAt }: AnswerId,
): ConversationAnswer => {
  const { codec } = conversation
  const { path } = request
  const prompt = codec.decodePrompt(body, path)
  checkResults(prompt)
  const model = target.name ?? textIn(body.model)
  const answer = cannedAnswer({
    prompt,
    model,
    format: conversation.format,
    id,
    inputTokens: estimatePromptTokens(body, 0),
    habits: conversation,
  })
  const context = { id, model, now: createdAt, prompt, path }
  if (!prompt.stream) return { body: codec.encodeAnswer(answer, context) }
  const encoder = codec.streamEncoder(answer, context)
  const chunks = streamedParts(answer).flatMap(part => encoder.push(part))
  return { chunks: chunks.filter(({ length }) => length > 0), type: encoder.type }
}

/** Throws CALL_UNKNOWN: providers refuse the result of a call that no turn before has. */
const checkResults = ({ turns }: Prompt): void => {
  const calls = new Set<string>()
  for (const { content } of turns)
    for (const each of content) {
      if (each.type === 'call') calls.add(each.id)
      if (each.type === 'result' && !calls.has(each.id)) throw fault('CALL_UNKNOWN', [each.id])
    }
}

/** The parts of a stream, word by word. Its first part counts the input, as providers do. */
const streamedParts = (answer: Answer): readonly Part[] => {
  const input = answer.meters?.input ?? 0
  return partsOf(answer).flatMap((part): readonly Part[] => {
    if (part.type === 'begin') return [{ ...part, meters: { input } }]
    return part.type === 'grow' ? wordsOf(part.text).map(text => ({ ...part, text })) : [part]
  })
}
