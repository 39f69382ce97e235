/** Turns, written as the items of an upstream's input. */
import type { Json } from '../../../engine/plugin.ts'
import { fitted } from '../call-id.ts'
import type { Loss } from '../codec.ts'
import type { Call, Content, Media, Result, Seal, Text, Thought, Work } from '../content.ts'
import { type Fields, isFields, parsed, present } from '../fields.ts'
import type { Turn } from '../hub.ts'
import { retold } from '../work.ts'
import { writePart } from './content.ts'
import { CALL_ID, NAME } from './name.ts'
import { ownItem } from './work.ts'

export const writeItems = (turns: readonly Turn[], loss: Loss): readonly Fields[] => {
  const free = new Set<string>()
  return turns.flatMap(turn => {
    if (turn.role === 'assistant') return new Spoken(free, loss).write(turn.content)
    const results = turn.content.flatMap(content =>
      content.type === 'result' ? [writeResult(content, free)] : [],
    )
    const parts = turn.content.flatMap(content => partOf(content, loss) ?? [])
    return parts.length > 0 ? [...results, writeMessage(turn.role, parts)] : results
  })
}
/** What somebody other than the model says; undefined where it is no part of a message. */
const partOf = (content: Content, loss: Loss): Text | Media | undefined => {
  if (content.type === 'text' || content.type === 'media') return content
  return content.type === 'work' ? retold(content, loss) : undefined
}

const writeMessage = (role: Turn['role'], parts: readonly (Text | Media)[]): Fields => {
  const [first] = parts
  const alone = parts.length === 1 && first?.type === 'text'
  return { type: 'message', role, content: alone ? first.text : parts.flatMap(writeParts) }
}

/** What a document is about stands before it. */
const writeParts = (part: Text | Media): readonly Fields[] => {
  const about = part.type === 'media' ? part.context : undefined
  const before = about === undefined ? [] : [{ type: 'input_text', text: about }]
  return [...before, writePart(part)]
}
/** There is no flag for a tool that failed: it is said. */
const writeResult = (
  { id, content, value, failed, ...rest }: Result,
  free: ReadonlySet<string>,
): Fields => {
  const given =
    content.length === 0 && value !== undefined ? [text(JSON.stringify(value))] : content
  const parts = failed ? [text(FAILED), ...given] : given
  const texts = parts.flatMap(part => (part.type === 'text' ? [part.text] : []))
  return {
    type: rest.free || free.has(id) ? 'custom_tool_call_output' : 'function_call_output',
    call_id: fitted(id, CALL_ID),
    output:
      texts.length === parts.length && isShort(given) ? texts.join('') : parts.flatMap(writeParts),
  }
}
const FAILED = 'Error: '
const text = (words: string): Text => ({ type: 'text', text: words })
const isShort = (parts: readonly unknown[]): boolean => parts.length <= 1

/** What the model said, item by item. */
class Spoken {
  readonly #items: Fields[] = []
  readonly #free: Set<string>
  readonly #loss: Loss
  /** Texts that follow one another are one message. */
  #texts: string[] = []
  #phase: string | undefined
  /** Sealed by us, for what follows, on its way through a client that has no place for it there. */
  readonly #carried = new Map<string, string>()

  constructor(free: Set<string>, loss: Loss) {
    this.#free = free
    this.#loss = loss
  }
  write(contents: readonly Content[]): readonly Fields[] {
    for (const content of contents) this.#take(content)
    this.#flush()
    // Thoughts that nothing follows are refused.
    while (this.#items.at(-1)?.type === 'reasoning') this.#items.pop()
    return this.#items
  }
  #take(content: Content): void {
    if (content.type === 'text') return this.#text(content)
    if (content.type === 'thought') return this.#thought(content)
    if (content.type === 'work') this.#work(content)
    else if (content.type === 'call') this.#put(this.#call(content))
    else if (content.type === 'media') this.#put(image(content))
    else if (content.type === 'refusal') this.#put(refusal(content.text, this.#items.length))
  }
  #text({ text, seal }: Text): void {
    const phase = this.#own('phase', seal)
    if (phase !== this.#phase) this.#flush()
    this.#phase = phase
    this.#texts.push(text)
  }
  #work(work: Work): void {
    const own = ownItem(work)
    const text = own ? undefined : retold(work, this.#loss)?.text
    if (own) this.#put(own)
    else if (text !== undefined) this.#put(spoken(text))
  }
  #flush(): void {
    const text = this.#texts.join('')
    if (text !== '') this.#items.push(spoken(text, this.#phase))
    this.#texts = []
    this.#phase = undefined
  }
  #put(item: Fields): void {
    this.#flush()
    this.#items.push(item)
  }
  /** Those of other providers are not sent as if they were this one's. */
  #thought({ text, seal }: Thought): void {
    if (seal?.origin !== NAME) return
    if (seal.kind !== undefined) {
      this.#carried.set(seal.kind, seal.data)
      return
    }
    this.#put(
      present({
        type: 'reasoning',
        id: seal.id,
        summary: text === '' ? [] : [{ type: 'summary_text', text }],
        encrypted_content: seal.data,
      }),
    )
  }
  #call({ id, name, input, free, seal }: Call): Fields {
    const call = { call_id: fitted(id, CALL_ID), name }
    if (free) this.#free.add(id)
    if (free) return { type: 'custom_tool_call', ...call, input }
    const namespace = this.#own('namespace', seal)
    return present({
      type: 'function_call',
      ...call,
      namespace,
      arguments: input.trim() === '' ? '{}' : input,
    })
  }
  #own(kind: string, seal: Seal | undefined): string | undefined {
    const carried = this.#carried.get(kind)
    this.#carried.delete(kind)
    return seal?.origin === NAME && seal.kind === kind ? seal.data : carried
  }
}

const spoken = (content: string, phase?: string): Fields =>
  present({ type: 'message', role: 'assistant', content, phase })

/** A picture of this provider's goes back as it came. That of another becomes one that the user shows. */
const image = (media: Media): Fields => {
  const { seal, source } = media
  const item: Json | undefined =
    seal?.origin === NAME && seal.kind === 'image' ? parsed(seal.data) : undefined
  if (isFields(item) && source.type === 'data') return { ...item, result: source.data }
  return { type: 'message', role: 'user', content: [writePart(media)] }
}
const refusal = (text: string, index: number): Fields => ({
  type: 'message',
  id: `msg_refused_${index}`,
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'refusal', refusal: text }],
})
