/** Converts between a whole answer and the parts of a stream, in both directions. Pure. */
import type { Json } from '../../../engine/plugin.ts'
import type { Answer, Choice, Part, Stop } from './answer.ts'
import type { Citation, Content, Text } from './content.ts'

/** Collects the parts of a stream into a whole answer. */
export class Collector {
  #answer: Omit<Answer, 'choices'> = {}
  readonly #blocks = new Map<number, Block>()
  readonly #stops = new Map<number, Stop>()
  #hasEnded = false

  /** Whether the stream reached its own end. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }
  add(part: Part): void {
    if (part.type === 'begin') {
      const { type: _, ...facts } = part
      this.#answer = { ...this.#answer, ...facts }
    } else if (part.type === 'count') this.#answer = { ...this.#answer, meters: part.meters }
    else if (part.type === 'stop') this.#stops.set(part.choice, part.stop)
    else if (part.type === 'end') this.#hasEnded = true
    else if (part.type === 'open')
      this.#blocks.set(part.index, { choice: part.choice, content: part.content, citations: [] })
    else this.#change(part)
  }
  #change(part: Extract<Part, { readonly type: 'grow' | 'payload' | 'cite' | 'close' }>): void {
    const block = this.#blocks.get(part.index)
    if (!block) return
    if (part.type === 'grow') block.content = appendText(block.content, part.text)
    else if (part.type === 'payload')
      block.content = { ...block.content, payload: part.payload } as Content
    else if (part.type === 'cite') block.citations.push(part.citation)
    else if (part.content) {
      block.content = part.content
      block.citations.length = 0
    }
  }
  answer(): Answer {
    const choices: Choice[] = []
    const contents = new Map<number, Content[]>()
    for (const number of this.#stops.keys()) contents.set(number, [])
    for (const block of this.#blocks.values()) {
      const content = contents.get(block.choice)
      if (content) content.push(contentOf(block))
      else contents.set(block.choice, [contentOf(block)])
    }
    for (const [number, content] of [...contents].sort(([first], [second]) => first - second))
      choices.push({
        content,
        stop: this.#stops.get(number) ?? { reason: 'end' },
      })
    return { ...this.#answer, choices }
  }
}
/** A block of the stream so far, with the citations of its text that came one by one. */
interface Block {
  readonly choice: number
  content: Content
  readonly citations: Citation[]
}
const contentOf = ({ content, citations: added }: Block): Content =>
  content.type === 'text' && added.length > 0
    ? { ...content, citations: [...(content.citations ?? []), ...added] }
    : content
const appendText = (content: Content, text: string): Content => {
  if (content.type === 'call') return { ...content, input: content.input + text }
  return 'text' in content ? { ...content, text: content.text + text } : content
}

/** Splits a whole answer into the parts of a stream, each block in one piece. */
export const partsOf = ({ choices, meters, ...facts }: Answer): readonly Part[] => {
  const parts: Part[] = [{ type: 'begin', ...facts }]
  let index = 0
  choices.forEach(({ content, stop, logprobs }, choice) => {
    const first = content.find(({ type }) => type === 'text')
    for (const block of content)
      for (const part of blockParts(block, index++, choice))
        parts.push(block === first ? withLogprobs(part, logprobs) : part)
    parts.push({ type: 'stop', choice, stop })
  })
  if (meters) parts.push({ type: 'count', meters })
  parts.push({ type: 'end' })
  return parts
}
/** The probabilities of all tokens are those of the first text. */
const withLogprobs = (part: Part, logprobs: Json | undefined): Part =>
  part.type === 'grow' && logprobs !== undefined ? { ...part, logprobs } : part
const blockParts = (content: Content, index: number, choice: number): readonly Part[] => {
  const parts: Part[] = []
  const openBlock = (skeleton: Content, text: string): void => {
    parts.push({ type: 'open', index, choice, content: skeleton })
    if (text !== '') parts.push({ type: 'grow', index, text })
  }
  if (content.type === 'text') {
    const { citations = [], ...rest } = content
    openBlock({ ...rest, text: '' } satisfies Text, content.text)
    for (const citation of citations) parts.push({ type: 'cite', index, citation })
  } else if (content.type === 'call') openBlock({ ...content, input: '' }, content.input)
  else if (content.type === 'thought' || content.type === 'refusal')
    openBlock({ ...content, text: '' }, content.text)
  else openBlock(content, '')
  parts.push({ type: 'close', index })
  return parts
}
