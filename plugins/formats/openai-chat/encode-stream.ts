/** Encodes a chat stream for a client: unnamed chunks, the role first, a finish reason last, and
 *  usage if the client requested it. */
import type { Json } from '../../../engine/plugin.ts'
import type { Meters } from '../../slots.ts'
import { type Fields, omitUndefined } from '../fields.ts'
import type { Part, Stop } from '../hub/answer.ts'
import { encodeCallId, PORTABLE_ID } from '../hub/call-id.ts'
import type { EncodeContext, StreamEncoder } from '../hub/codec.ts'
import type { Call, Content, OpaquePayload } from '../hub/content.ts'
import { writeCallPayload, writeDetail } from './reasoning.ts'
import { answerId, writeCitation } from './response.ts'
import { explanationOf, reasonOf } from './stops.ts'
import { TextLayout } from './text-layout.ts'
import { countsOf } from './usage.ts'

type PartOf<T extends Part['type']> = Extract<Part, { readonly type: T }>

/** An open block of the hub. */
interface Block {
  readonly choice: Choice
  readonly content: Content
  /** The index of this call within its choice. */
  readonly call: number
  payload: OpaquePayload | undefined
  hasText: boolean
  /** The start of the block in the choice's whole text. */
  readonly start: number
}
/** The content of one choice's chunks so far. */
interface Choice {
  readonly index: number
  hasRole: boolean
  hasRefusal: boolean
  readonly layout: TextLayout
  callCount: number
}

export const encodeStream = (context: EncodeContext): StreamEncoder => new ChatEncoder(context)

class ChatEncoder implements StreamEncoder {
  readonly #context: EncodeContext
  readonly #blocks = new Map<number, Block>()
  readonly #choices = new Map<number, Choice>()
  #created: number
  #meters: Meters | undefined

  constructor(context: EncodeContext) {
    this.#context = context
    this.#created = context.now
  }
  push(part: Part): string {
    switch (part.type) {
      case 'begin':
        this.#created = part.created ?? this.#created
        this.#meters = part.meters ?? this.#meters
        return ''
      case 'open':
        return this.#openBlock(part)
      case 'stop':
        return this.#stop(this.#choiceAt(part.choice), part.stop)
      case 'count':
        this.#meters = part.meters
        return ''
      case 'end':
        return `${this.#usageChunk()}data: [DONE]\n\n`
      default:
        return this.#change(part)
    }
  }
  failure(body: Fields): string {
    return `data: ${JSON.stringify(body)}\n\n`
  }

  #stop(choice: Choice, stop: Stop): string {
    const refusal = choice.hasRefusal ? undefined : explanationOf(stop)
    const refusalChunk = refusal === undefined ? '' : this.#delta(choice, { refusal })
    return refusalChunk + this.#delta(choice, {}, reasonOf(stop))
  }

  // -------------------------------------------------------------- blocks

  #openBlock({ index, choice: number, content }: PartOf<'open'>): string {
    const choice = this.#choiceAt(number)
    const payload = 'payload' in content ? content.payload : undefined
    const start = choice.layout.length
    const block = { choice, content, call: choice.callCount, payload, hasText: false, start }
    this.#blocks.set(index, block)
    if (content.type === 'refusal') choice.hasRefusal = true
    if (content.type === 'media') return this.#added(choice, choice.layout.media(content))
    if ('text' in content && content.text !== '') return this.#text(block, content.text, null)
    if (content.type !== 'call') return ''
    choice.callCount++
    return this.#delta(choice, { tool_calls: [callStart(content, block.call)] })
  }
  #change(part: PartOf<'grow' | 'payload' | 'cite' | 'close'>): string {
    const block = this.#blocks.get(part.index)
    if (!block) return ''
    if (part.type === 'grow') return this.#text(block, part.text, part.logprobs ?? null)
    if (part.type === 'cite') {
      const annotations = writeCitation(part.citation, block.start)
      return annotations.length > 0 ? this.#delta(block.choice, { annotations }) : ''
    }
    if (part.type === 'payload') {
      block.payload = part.payload
      return ''
    }
    this.#blocks.delete(part.index)
    const content = part.content ?? block.content
    if (content.type === 'hostedCall')
      return this.#added(block.choice, block.choice.layout.program(content))
    return this.#closeBlock(block)
  }
  #closeBlock(block: Block): string {
    const { choice, content, payload, hasText } = block
    // A call without arguments gets an empty object, because clients parse the arguments.
    if (content.type === 'call')
      return hasText || content.isFreeText ? '' : this.#delta(choice, deltaOf(block, '{}'))
    // The payload follows its text; a payload on a text becomes an empty thought.
    if (!payload) return ''
    const detail = writeDetail({ type: 'thought', text: '', payload })
    return this.#delta(choice, { reasoning_details: [detail] })
  }

  // -------------------------------------------------------------- chunks

  #text(block: Block, text: string, logprobs: Json): string {
    block.hasText = true
    if (block.content.type === 'text') block.choice.layout.text(text)
    return this.#delta(block.choice, deltaOf(block, text), null, logprobs)
  }
  #added(choice: Choice, content: string): string {
    return content === '' ? '' : this.#delta(choice, { content })
  }
  /** A chunk with a delta; the first one of a choice follows the chunk with the role. */
  #delta(
    choice: Choice,
    delta: Fields,
    reason: string | null = null,
    logprobs: Json = null,
  ): string {
    const { index } = choice
    const roleChunk = choice.hasRole
      ? ''
      : this.#chunk([{ ...emptyChoice(index), delta: { role: 'assistant', content: '' } }])
    choice.hasRole = true
    return (
      roleChunk + this.#chunk([{ ...emptyChoice(index), delta, logprobs, finish_reason: reason }])
    )
  }
  #usageChunk(): string {
    if (!this.#context.prompt.includeUsage) return ''
    return this.#chunk([], this.#meters ? countsOf(this.#meters) : null)
  }
  #chunk(choices: readonly Json[], usage: Json = null): string {
    const { model, prompt } = this.#context
    return `data: ${JSON.stringify({
      id: answerId(this.#context),
      object: 'chat.completion.chunk',
      created: this.#created,
      model,
      choices,
      ...(prompt.includeUsage && { usage }),
    })}\n\n`
  }
  #choiceAt(index: number): Choice {
    const existing = this.#choices.get(index)
    if (existing) return existing
    const choice = {
      index,
      hasRole: false,
      hasRefusal: false,
      layout: new TextLayout(),
      callCount: 0,
    }
    this.#choices.set(index, choice)
    return choice
  }
}

const emptyChoice = (index: number): Fields => ({
  index,
  delta: {},
  logprobs: null,
  finish_reason: null,
})
/** The start of a tool call, without its arguments. */
const callStart = ({ id, name, isFreeText, payload }: Call, index: number): Fields => ({
  index,
  id: encodeCallId(id, PORTABLE_ID),
  ...(isFreeText
    ? { type: 'custom', custom: { name, input: '' } }
    : { type: 'function', function: { name, arguments: '' } }),
  ...writeCallPayload(payload),
})
const deltaOf = ({ content, call }: Block, text: string): Fields => {
  if (content.type === 'thought') return { reasoning_content: text }
  if (content.type === 'refusal') return { refusal: text }
  if (content.type !== 'call') return { content: text }
  const input = content.isFreeText ? { custom: { input: text } } : { function: { arguments: text } }
  return omitUndefined({ tool_calls: [{ index: call, ...input }] })
}
