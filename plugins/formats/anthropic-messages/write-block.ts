/** Encodes one block of a client's stream. One block of the hub may become several: a payload needs
 *  its own thinking block, a hosted call a use and a result. */
import type { Call, Citation, Content, Seal, Work } from '../content.ts'
import type { Fields } from '../fields.ts'
import { sealedFor } from '../seal.ts'
import {
  answerBlocks,
  callStart,
  carried,
  isRedacted,
  packedBlocks,
  textStart,
  thoughtBlock,
} from './answer-blocks.ts'
import { writeCitation } from './citations.ts'
import { OWN } from './read.ts'
import { workInput, workResult, workStart } from './write-work.ts'

/** Writes an event of the current block. */
type Tell = (type: string, fields: Fields) => void

export class BlockWriter {
  readonly #content: Content
  readonly #tell: Tell
  #begun = false
  /** The payload that arrived while the block was open. */
  #sealed: Seal | undefined
  /** The buffered input of a free-text call, which is valid JSON only when complete. */
  #held = ''

  constructor(content: Content, tell: Tell) {
    this.#content = content
    this.#tell = tell
  }
  open(): void {
    const content = this.#content
    if (content.type === 'thought') this.#sealed = content.seal
    else if ('seal' in content) for (const block of carried(content.seal)) this.#whole(block)
    if (content.type === 'thought' && !isRedacted(content.seal)) this.#think()
    if (content.type === 'call') this.#call(content)
    if (content.type === 'work' && content.raw?.origin !== OWN) this.#work(content)
    if (content.type === 'text' || content.type === 'refusal' || content.type === 'thought')
      this.grow(content.text)
    if (content.type === 'text') for (const citation of content.citations ?? []) this.cite(citation)
  }
  grow(text: string): void {
    if (text === '') return
    const { type } = this.#content
    if (type === 'thought') this.#delta({ type: 'thinking_delta', thinking: text })
    else if (type === 'call') this.#input(text)
    else if (type === 'text' || type === 'refusal') {
      this.#text()
      this.#delta({ type: 'text_delta', text })
    }
  }
  seal(seal: Seal): void {
    this.#sealed = seal
  }
  cite(citation: Citation): void {
    if (this.#content.type !== 'text') return
    this.#text()
    this.#delta({ type: 'citations_delta', citation: writeCitation(citation) })
  }
  /** `known`: the final content. */
  close(known: Content = this.#content): void {
    const { type } = this.#content
    if (type === 'thought') return this.#closeThought()
    if (known.type === 'work') this.#closeWork(known)
    else if (type === 'media') for (const block of answerBlocks(known)) this.#whole(block)
    if (this.#held !== '') this.#delta(inputDelta(JSON.stringify({ input: this.#held })))
    this.#finish()
    // A payload that arrived after its text follows it.
    for (const block of carried(this.#sealed)) this.#whole(block)
  }
  #text(): void {
    if (!this.#begun) this.#start(textStart())
  }
  #think(): void {
    this.#start(thoughtBlock({ text: '' }))
  }
  #call(call: Call): void {
    this.#start(callStart(call))
    if (call.input !== '') this.#input(call.input)
  }
  #input(text: string): void {
    if (this.#content.type === 'call' && this.#content.free) this.#held += text
    else this.#delta(inputDelta(text))
  }
  #work(work: Work): void {
    this.#start(workStart(work))
  }
  #closeWork(work: Work): void {
    if (work.raw?.origin === OWN) {
      for (const block of answerBlocks(work)) this.#whole(block)
      return
    }
    if (!this.#begun) this.#work(work)
    this.#delta(inputDelta(JSON.stringify(workInput(work))))
    this.#finish()
    const result = workResult(work)
    if (result) this.#whole(result)
    for (const block of packedBlocks(work)) this.#whole(block)
  }
  #closeThought(): void {
    const seal = this.#sealed
    if (!this.#begun) {
      if (isRedacted(seal)) return this.#whole(thoughtBlock({ text: '', seal }))
      this.#think()
    }
    if (seal) this.#delta({ type: 'signature_delta', signature: sealedFor(OWN, seal) })
    this.#finish()
  }
  #start(block: Fields): void {
    this.#begun = true
    this.#tell('content_block_start', { content_block: block })
  }
  #delta(delta: Fields): void {
    this.#tell('content_block_delta', { delta })
  }
  #finish(): void {
    if (!this.#begun) return
    this.#begun = false
    this.#tell('content_block_stop', {})
  }
  /** Writes a complete block in the fragments of its type. */
  #whole(block: Fields): void {
    const [start, ...deltas] = piecesOf(block)
    this.#start(start)
    for (const delta of deltas) this.#delta(delta)
    this.#finish()
  }
}
const inputDelta = (json: string): Fields => ({ type: 'input_json_delta', partial_json: json })

type Pieces = readonly [start: Fields, ...deltas: readonly Fields[]]
const PIECES: Readonly<Record<string, (block: Fields) => Pieces>> = {
  text: ({ text = '', ...block }) => [
    { ...textStart(), ...block, text: '' },
    { type: 'text_delta', text },
  ],
  thinking: ({ thinking = '', signature = '' }) => [
    thoughtBlock({ text: '' }),
    ...(thinking === '' ? [] : [{ type: 'thinking_delta', thinking }]),
    { type: 'signature_delta', signature },
  ],
  server_tool_use: block => useOf(block),
  mcp_tool_use: block => useOf(block),
}
const useOf = (block: Fields): Pieces => [
  { ...block, input: {} },
  inputDelta(JSON.stringify(block.input ?? {})),
]
const piecesOf = (block: Fields): Pieces => PIECES[String(block.type)]?.(block) ?? [block]
