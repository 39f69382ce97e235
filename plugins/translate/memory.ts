/** What a client's format has no field for and its target must get back: thoughts and signatures, remembered for a while by
 *  the id of the call they belong to. Bounded; a client that gives them back itself needs it not. */
import { LRUCache } from 'lru-cache'
import type { Part } from '../formats/answer.ts'
import type { Content, OpaquePayload, Thought } from '../formats/content.ts'
import type { Prompt, Turn } from '../formats/hub.ts'

/** Bytes of all that is remembered, in one process. */
const ROOM = 16 * 1024 * 1024
/** ms: longer than any tool should take. */
const WHILE = 60 * 60 * 1000

interface Kept {
  /** What was thought before the first call of the turn. */
  readonly thoughts: readonly Thought[]
  readonly payload?: OpaquePayload
}

export class Memory {
  readonly #kept = new LRUCache<string, Kept>({
    maxSize: ROOM,
    ttl: WHILE,
    sizeCalculation: kept => JSON.stringify(kept).length + 64,
  })
  /** `owner`: whose calls they are: nobody meets another's thoughts. */
  listen(owner: string): Listener {
    return new Listener((id, kept) => this.#kept.set(`${owner} ${id}`, kept))
  }
  /** Calls that come back without what was sealed with them get it again. */
  restore(prompt: Prompt, owner: string): Prompt {
    const turns = prompt.turns.map(turn => this.#restored(turn, owner))
    return turns.every((turn, index) => turn === prompt.turns[index])
      ? prompt
      : { ...prompt, turns }
  }
  #restored(turn: Turn, owner: string): Turn {
    if (turn.role !== 'assistant' || !turn.content.some(({ type }) => type === 'call')) return turn
    if (turn.content.some(each => 'payload' in each && each.payload)) return turn
    const content: Content[] = []
    let known = false
    for (const each of turn.content) {
      const kept = each.type === 'call' ? this.#kept.get(`${owner} ${each.id}`) : undefined
      if (!kept) {
        content.push(each)
        continue
      }
      if (!known) content.push(...kept.thoughts)
      known = true
      content.push(kept.payload ? ({ ...each, payload: kept.payload } as Content) : each)
    }
    // Its own words of those thoughts are what it was shown; the sealed ones are what was thought.
    return known
      ? { ...turn, content: content.filter(each => each.type !== 'thought' || each.payload) }
      : turn
  }
}

/** Hears the parts of one answer. */
export class Listener {
  readonly #keep: (id: string, kept: Kept) => void
  readonly #thoughts = new Map<number, Thought>()
  readonly #calls = new Map<number, { readonly id: string; payload?: OpaquePayload }>()

  constructor(keep: (id: string, kept: Kept) => void) {
    this.#keep = keep
  }
  hear(part: Part): void {
    if (part.type === 'open') this.#open(part.index, part.content)
    else if (part.type === 'grow') {
      const thought = this.#thoughts.get(part.index)
      if (thought) this.#thoughts.set(part.index, { ...thought, text: thought.text + part.text })
    } else if (part.type === 'payload') this.#payload(part.index, part.payload)
    else if (part.type === 'end') this.#end()
  }
  #open(index: number, content: Content): void {
    if (content.type === 'thought') this.#thoughts.set(index, content)
    else if (content.type === 'call')
      this.#calls.set(index, {
        id: content.id,
        ...(content.payload && { payload: content.payload }),
      })
  }
  #payload(index: number, payload: OpaquePayload): void {
    const thought = this.#thoughts.get(index)
    if (thought) this.#thoughts.set(index, { ...thought, payload })
    const call = this.#calls.get(index)
    if (call) call.payload = payload
  }
  #end(): void {
    const thoughts = [...this.#thoughts.values()].filter(({ payload }) => payload)
    for (const { id, payload } of this.#calls.values())
      if (thoughts.length > 0 || payload) this.#keep(id, { thoughts, ...(payload && { payload }) })
  }
}
