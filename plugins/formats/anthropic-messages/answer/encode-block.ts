/** Encodes one block of a client's stream. One block of the hub may become several: a payload needs
 *  its own thinking block, a hosted call a use and a result. */
import type { Fields } from '../../fields.ts'
import type { Call, Citation, Content, HostedCall, OpaquePayload } from '../../hub/content.ts'
import { encodePayload } from '../../hub/opaque-payload.ts'
import { isNamed, resultBlock, useInput, useStart } from '../encode-hosted-tools.ts'
import { NAME } from '../members.ts'
import {
  answerBlocks,
  callStart,
  hostedItemBlocks,
  isRedacted,
  payloadBlocks,
  textStart,
  thoughtBlock,
} from './blocks.ts'
import { writeCitation } from './citations.ts'

/** Writes an event of the current block. */
type Emit = (type: string, fields: Fields) => void

export class BlockWriter {
  readonly #content: Content
  readonly #emit: Emit
  #isOpen = false
  /** The payload that arrived while the block was open. */
  #payload: OpaquePayload | undefined
  /** The buffered input of a free-text call, which is valid JSON only when complete. */
  #freeInput = ''

  constructor(content: Content, emit: Emit) {
    this.#content = content
    this.#emit = emit
  }
  open(): void {
    const content = this.#content
    if (content.type === 'thought') this.#payload = content.payload
    else if ('payload' in content)
      for (const block of payloadBlocks(content.payload)) this.#writeWhole(block)
    if (content.type === 'thought' && !isRedacted(content.payload)) this.#openThinking()
    if (content.type === 'call') this.#openCall(content)
    if (content.type === 'hostedCall' && content.raw?.origin !== NAME && isNamed(content))
      this.#openHostedCall(content)
    if (content.type === 'text' || content.type === 'refusal' || content.type === 'thought')
      this.append(content.text)
    if (content.type === 'text') for (const citation of content.citations ?? []) this.cite(citation)
  }
  append(text: string): void {
    if (text === '') return
    const { type } = this.#content
    if (type === 'thought') this.#emitDelta({ type: 'thinking_delta', thinking: text })
    else if (type === 'call') this.#appendInput(text)
    else if (type === 'text' || type === 'refusal') {
      this.#ensureOpenText()
      this.#emitDelta({ type: 'text_delta', text })
    }
  }
  setPayload(payload: OpaquePayload): void {
    this.#payload = payload
  }
  cite(citation: Citation): void {
    if (this.#content.type !== 'text') return
    this.#ensureOpenText()
    this.#emitDelta({ type: 'citations_delta', citation: writeCitation(citation) })
  }
  /** `finalContent`: the content as the upstream completed it. */
  close(finalContent: Content = this.#content): void {
    const { type } = this.#content
    if (type === 'thought') return this.#closeThought()
    if (finalContent.type === 'hostedCall') this.#closeHostedCall(finalContent)
    else if (type === 'media')
      for (const block of answerBlocks(finalContent)) this.#writeWhole(block)
    if (this.#freeInput !== '')
      this.#emitDelta(inputDelta(JSON.stringify({ input: this.#freeInput })))
    this.#finish()
    // A payload that arrived after its text follows it.
    for (const block of payloadBlocks(this.#payload)) this.#writeWhole(block)
  }
  #ensureOpenText(): void {
    if (!this.#isOpen) this.#start(textStart())
  }
  #openThinking(): void {
    this.#start(thoughtBlock({ text: '' }))
  }
  #openCall(call: Call): void {
    this.#start(callStart(call))
    if (call.input !== '') this.#appendInput(call.input)
  }
  #appendInput(text: string): void {
    if (this.#content.type === 'call' && this.#content.isFreeText) this.#freeInput += text
    else this.#emitDelta(inputDelta(text))
  }
  #openHostedCall(call: HostedCall): void {
    this.#start(useStart(call))
  }
  #closeHostedCall(call: HostedCall): void {
    if (call.raw?.origin === NAME) {
      for (const block of answerBlocks(call)) this.#writeWhole(block)
      return
    }
    if (!this.#isOpen) this.#openHostedCall(call)
    this.#emitDelta(inputDelta(JSON.stringify(useInput(call))))
    this.#finish()
    const result = resultBlock(call)
    if (result) this.#writeWhole(result)
    for (const block of hostedItemBlocks(call)) this.#writeWhole(block)
  }
  #closeThought(): void {
    const payload = this.#payload
    if (!this.#isOpen) {
      if (isRedacted(payload)) return this.#writeWhole(thoughtBlock({ text: '', payload }))
      this.#openThinking()
    }
    if (payload)
      this.#emitDelta({ type: 'signature_delta', signature: encodePayload(NAME, payload) })
    this.#finish()
  }
  #start(block: Fields): void {
    this.#isOpen = true
    this.#emit('content_block_start', { content_block: block })
  }
  #emitDelta(delta: Fields): void {
    this.#emit('content_block_delta', { delta })
  }
  #finish(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#emit('content_block_stop', {})
  }
  /** Writes a complete block in the fragments of its type. */
  #writeWhole(block: Fields): void {
    const [start, ...deltas] = fragmentsOf(block)
    this.#start(start)
    for (const delta of deltas) this.#emitDelta(delta)
    this.#finish()
  }
}
const inputDelta = (json: string): Fields => ({ type: 'input_json_delta', partial_json: json })

type Fragments = readonly [start: Fields, ...deltas: readonly Fields[]]
const FRAGMENTS: Readonly<Record<string, (block: Fields) => Fragments>> = {
  text: ({ text = '', ...block }) => [
    { ...textStart(), ...block, text: '' },
    { type: 'text_delta', text },
  ],
  thinking: ({ thinking = '', signature = '' }) => [
    thoughtBlock({ text: '' }),
    ...(thinking === '' ? [] : [{ type: 'thinking_delta', thinking }]),
    { type: 'signature_delta', signature },
  ],
  server_tool_use: block => useFragments(block),
  mcp_tool_use: block => useFragments(block),
}
const useFragments = (block: Fields): Fragments => [
  { ...block, input: {} },
  inputDelta(JSON.stringify(block.input ?? {})),
]
const fragmentsOf = (block: Fields): Fragments => FRAGMENTS[String(block.type)]?.(block) ?? [block]
