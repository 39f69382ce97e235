/** Remembers thoughts and signatures that a target must get back but the client's format has no
 *  field for, by the id of the tool call they precede. Bounded in size and time; not used for
 *  clients that send them back themselves. */
import { LRUCache } from 'lru-cache'
import type { Part } from '../formats/answer.ts'
import type { Content, OpaquePayload, Thought } from '../formats/content.ts'
import type { Prompt, Turn } from '../formats/hub.ts'

/** Size limit of one process's cache, bytes. */
const MAX_BYTES = 16 * 1024 * 1024
/** Lifetime of an entry, ms: longer than any tool should take. */
const TTL_MS = 60 * 60 * 1000

interface CacheEntry {
  /** The thoughts before the first call of the turn. */
  readonly thoughts: readonly Thought[]
  readonly payload?: OpaquePayload
}

export class ThoughtCache {
  readonly #entries = new LRUCache<string, CacheEntry>({
    maxSize: MAX_BYTES,
    ttl: TTL_MS,
    sizeCalculation: kept => JSON.stringify(kept).length + 64,
  })
  /** `owner`: the account; entries are never shared between accounts. */
  recorder(owner: string): ThoughtRecorder {
    return new ThoughtRecorder((id, kept) => this.#entries.set(`${owner} ${id}`, kept))
  }
  /** Adds the remembered thoughts and payloads to calls that the client sent back without them. */
  restore(prompt: Prompt, owner: string): Prompt {
    const turns = prompt.turns.map(turn => this.#restoreTurn(turn, owner))
    return turns.every((turn, index) => turn === prompt.turns[index])
      ? prompt
      : { ...prompt, turns }
  }
  #restoreTurn(turn: Turn, owner: string): Turn {
    if (turn.role !== 'assistant' || !turn.content.some(({ type }) => type === 'call')) return turn
    if (turn.content.some(each => 'payload' in each && each.payload)) return turn
    const content: Content[] = []
    let known = false
    for (const each of turn.content) {
      const kept = each.type === 'call' ? this.#entries.get(`${owner} ${each.id}`) : undefined
      if (!kept) {
        content.push(each)
        continue
      }
      if (!known) content.push(...kept.thoughts)
      known = true
      content.push(kept.payload ? ({ ...each, payload: kept.payload } as Content) : each)
    }
    // The client's text of these thoughts is a summary; the ones with payloads are authoritative.
    return known
      ? { ...turn, content: content.filter(each => each.type !== 'thought' || each.payload) }
      : turn
  }
}

/** Records the thoughts and calls of one answer. */
export class ThoughtRecorder {
  readonly #save: (id: string, kept: CacheEntry) => void
  readonly #thoughts = new Map<number, Thought>()
  readonly #calls = new Map<number, { readonly id: string; payload?: OpaquePayload }>()

  constructor(keep: (id: string, kept: CacheEntry) => void) {
    this.#save = keep
  }
  add(part: Part): void {
    if (part.type === 'open') this.#addContent(part.index, part.content)
    else if (part.type === 'grow') {
      const thought = this.#thoughts.get(part.index)
      if (thought) this.#thoughts.set(part.index, { ...thought, text: thought.text + part.text })
    } else if (part.type === 'payload') this.#addPayload(part.index, part.payload)
    else if (part.type === 'end') this.#saveCalls()
  }
  #addContent(index: number, content: Content): void {
    if (content.type === 'thought') this.#thoughts.set(index, content)
    else if (content.type === 'call')
      this.#calls.set(index, {
        id: content.id,
        ...(content.payload && { payload: content.payload }),
      })
  }
  #addPayload(index: number, payload: OpaquePayload): void {
    const thought = this.#thoughts.get(index)
    if (thought) this.#thoughts.set(index, { ...thought, payload })
    const call = this.#calls.get(index)
    if (call) call.payload = payload
  }
  #saveCalls(): void {
    const thoughts = [...this.#thoughts.values()].filter(({ payload }) => payload)
    for (const { id, payload } of this.#calls.values())
      if (thoughts.length > 0 || payload) this.#save(id, { thoughts, ...(payload && { payload }) })
  }
}
