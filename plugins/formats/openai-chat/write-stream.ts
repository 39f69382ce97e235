/** Encodes a chat stream for a client: unnamed chunks, the role first, a finish reason last, and
 *  usage if the client requested it. */
import type { Json } from '../../../engine/plugin.ts'
import type { Meters } from '../../slots.ts'
import type { Part } from '../answer.ts'
import { encodeCallId, PORTABLE_ID } from '../call-id.ts'
import type { EncodeContext, StreamEncoder } from '../codec.ts'
import type { Call, Content, Media, OpaquePayload } from '../content.ts'
import { type Fields, omitUndefined } from '../fields.ts'
import { answerId, markdown, reasonOf, writeCitation } from './answer.ts'
import { writeCallPayload, writeDetail } from './reasoning.ts'
import { countsOf } from './usage.ts'

interface Block {
  readonly choice: number
  readonly content: Content
  /** The index of this call within its choice. */
  readonly call: number
  payload: OpaquePayload | undefined
  hasText: boolean
}

export const encodeStream = (context: EncodeContext): StreamEncoder => {
  const blocks = new Map<number, Block>()
  const calls = new Map<number, number>()
  const choicesWithRole = new Set<number>()
  /** Choices that contain an image already. */
  const choicesWithImage = new Set<number>()
  const includeUsage = context.prompt.includeUsage
  let created = context.now
  let meters: Meters | undefined

  const chunk = (choices: readonly Json[], usage: Json = null): string =>
    `data: ${JSON.stringify({
      id: answerId(context),
      object: 'chat.completion.chunk',
      created,
      model: context.model,
      choices,
      ...(includeUsage && { usage }),
    })}\n\n`
  const writeDelta = (
    choice: number,
    delta: Fields,
    reason: string | null = null,
    logprobs: Json = null,
  ) => {
    const roleChunk = choicesWithRole.has(choice)
      ? ''
      : chunk([{ ...empty(choice), delta: { role: 'assistant', content: '' } }])
    choicesWithRole.add(choice)
    return roleChunk + chunk([{ ...empty(choice), delta, logprobs, finish_reason: reason }])
  }
  const writeImage = (choice: number, media: Media): string => {
    const line = choicesWithImage.has(choice) ? '\n' : ''
    choicesWithImage.add(choice)
    return writeDelta(choice, { content: line + markdown(media) })
  }
  const grow = (index: number, text: string, logprobs: Json = null): string => {
    const block = blocks.get(index)
    if (!block) return ''
    block.hasText = true
    return writeDelta(block.choice, deltaOf(block, text), null, logprobs)
  }
  const openBlock = ({
    index,
    choice,
    content,
  }: Extract<Part, { readonly type: 'open' }>): string => {
    const call = calls.get(choice) ?? 0
    const payload = 'payload' in content ? content.payload : undefined
    blocks.set(index, { choice, content, call, payload, hasText: false })
    if (content.type === 'media') return writeImage(choice, content)
    if ('text' in content && content.text !== '') return grow(index, content.text)
    if (content.type !== 'call') return ''
    calls.set(choice, call + 1)
    return writeDelta(choice, { tool_calls: [opening(content, call)] })
  }
  const closeBlock = (block: Block): string => {
    const { choice, content, payload, hasText } = block
    // A call without arguments gets an empty object, because clients parse the arguments.
    if (content.type === 'call')
      return hasText || content.isFreeText ? '' : writeDelta(choice, deltaOf(block, '{}'))
    // The payload follows its text; a payload on a text becomes an empty thought.
    return payload
      ? writeDelta(choice, {
          reasoning_details: [writeDetail({ type: 'thought', text: '', payload })],
        })
      : ''
  }
  const WRITERS: {
    readonly [Type in Part['type']]?: (part: Extract<Part, { readonly type: Type }>) => string
  } = {
    begin(part) {
      created = part.created ?? created
      meters = part.meters ?? meters
      return ''
    },
    open: openBlock,
    grow: ({ index, text, logprobs }) => grow(index, text, logprobs),
    payload({ index, payload }) {
      const block = blocks.get(index)
      if (block) block.payload = payload
      return ''
    },
    cite({ index, citation }) {
      const block = blocks.get(index)
      const annotations = writeCitation(citation)
      return block && annotations.length > 0 ? writeDelta(block.choice, { annotations }) : ''
    },
    close({ index }) {
      const block = blocks.get(index)
      blocks.delete(index)
      return block ? closeBlock(block) : ''
    },
    stop: ({ choice, stop }) => writeDelta(choice, {}, reasonOf(stop)),
    count(part) {
      meters = part.meters
      return ''
    },
    end: () => `${includeUsage ? chunk([], meters ? countsOf(meters) : null) : ''}data: [DONE]\n\n`,
  }
  return {
    push: part => (WRITERS[part.type] as ((part: Part) => string) | undefined)?.(part) ?? '',
    failure: body => `data: ${JSON.stringify(body)}\n\n`,
  }
}

const empty = (index: number): Fields => ({ index, delta: {}, logprobs: null, finish_reason: null })
const opening = ({ id, name, isFreeText, payload }: Call, index: number): Fields => ({
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
