/** Decodes one block of an upstream's stream, from its start to its stop. */
import type { Json } from '../../../../engine/plugin.ts'
import { type Fields, isFields, lenientObject, parseJson } from '../../fields.ts'
import type { Part } from '../../hub/answer.ts'
import type { Content } from '../../hub/content.ts'
import { decodePayload } from '../../hub/opaque-payload.ts'
import { readBlock } from '../decode-content.ts'
import { isUse, startedCall } from '../decode-hosted-tools.ts'
import { FORM_TOOL_NAME } from '../form.ts'
import { NAME, textIn } from '../members.ts'
import { readCitation } from './citations.ts'

type Emit = (part: Part) => void

export class BlockReader {
  /** The block's index in the hub. */
  readonly index: number
  readonly #block: Fields
  /** The content known at the start of the block. */
  readonly content: Content
  /** Buffered fragments: the input of a hosted tool or the content of an unknown block. */
  #pieces = ''
  /** Whether a fragment of the call's input arrived. */
  #hasInput = false

  constructor(block: Fields, index: number) {
    this.index = index
    this.#block = block
    this.content = initialContent(block)
  }
  /** The complete call block of a hosted tool; undefined for other blocks. */
  get useBlock(): Fields | undefined {
    if (!isUse(String(this.#block.type))) return undefined
    return { ...this.#block, input: this.#input() }
  }
  open(emit: Emit): void {
    emit({ type: 'open', index: this.index, choice: 0, content: this.content })
  }
  addDelta(delta: Fields, emit: Emit): void {
    DELTAS[String(delta.type)]?.(delta, this, emit)
  }
  close(emit: Emit): void {
    const { index } = this
    if (this.#isFree) emit({ type: 'grow', index, text: this.#freeInput() })
    else if (this.#isCall && !this.#hasInput)
      emit({ type: 'grow', index, text: inputOf(this.#block) })
    const hasContent = this.content.type === 'hostedCall' && this.#pieces !== ''
    emit({ type: 'close', index, ...(hasContent && { content: this.#wholeBlock() }) })
  }
  get #isCall(): boolean {
    return this.#block.type === 'tool_use'
  }
  /** A free-text call: its input is complete only at the end. */
  get #isFree(): boolean {
    return this.content.type === 'call' && this.content.isFreeText === true
  }
  #freeInput(): string {
    const call = readBlock({ ...this.#block, input: this.#input() }, undefined)
    return call.type === 'call' ? call.input : ''
  }
  #input(): Json {
    if (this.#pieces === '') return this.#block.input ?? {}
    return parseJson(this.#pieces) ?? this.#pieces
  }
  /** An unknown block with its buffered content. */
  #wholeBlock(): Content {
    return readBlock({ ...this.#block, content: this.#pieces }, undefined)
  }
  append(text: string | undefined, emit: Emit): void {
    if (text === undefined || text === '') return
    this.#hasInput = true
    if (this.content.type === 'hostedCall' || this.#isFree) this.#pieces += text
    else emit({ type: 'grow', index: this.index, text })
  }
}

/** Omits the input of a call, which arrives in fragments or not at all. */
const initialContent = (block: Fields): Content => {
  if (block.type !== 'tool_use')
    return isUse(String(block.type)) ? startedCall(block, undefined) : readBlock(block, undefined)
  if (block.name === FORM_TOOL_NAME) return { type: 'text', text: '' }
  const call = readBlock(block, undefined)
  return call.type === 'call' ? { ...call, input: '' } : call
}
const inputOf = (block: Fields): string => JSON.stringify(block.input ?? {})
type Delta = (delta: Fields, block: BlockReader, emit: Emit) => void
const appendMember =
  (key: string): Delta =>
  (delta, block, emit) =>
    block.append(textIn(delta, key, undefined), emit)

const DELTAS: Readonly<Record<string, Delta>> = {
  text_delta: appendMember('text'),
  thinking_delta: appendMember('thinking'),
  input_json_delta: appendMember('partial_json'),
  compaction_delta: appendMember('content'),
  signature_delta: (delta, { index }, emit) => {
    const signature = textIn(delta, 'signature', undefined)
    if (signature) emit({ type: 'payload', index, payload: decodePayload(NAME, signature) })
  },
  citations_delta: (delta, { index }, emit) => {
    if (!isFields(delta.citation)) return
    emit({
      type: 'cite',
      index,
      citation: readCitation(lenientObject(delta, 'citation'), undefined),
    })
  },
}
