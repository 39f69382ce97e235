/** Remembers thoughts and signatures that a target must get back but the client's format has no
 *  field for, by the id of the tool call they precede. Bounded in size and time; not used for
 *  clients that send them back themselves. */
import { LRUCache } from 'lru-cache'
import type { Exchange } from '../../engine/plugin.ts'
import type { Part } from '../formats/answer.ts'
import type { Content, OpaquePayload, Thought } from '../formats/content.ts'
import type { Prompt, Turn } from '../formats/hub.ts'
import { ACCOUNT } from '../slots.ts'

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
    sizeCalculation: entry => JSON.stringify(entry).length + 64,
  })
  /** `owner`: the account; entries are never shared between accounts. */
  recorder(owner: string): ThoughtRecorder {
    return new ThoughtRecorder((id, entry) => this.#entries.set(`${owner} ${id}`, entry))
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
    let hasMatch = false
    for (const each of turn.content) {
      const entry = each.type === 'call' ? this.#entries.get(`${owner} ${each.id}`) : undefined
      if (!entry) {
        content.push(each)
        continue
      }
      if (!hasMatch) content.push(...entry.thoughts)
      hasMatch = true
      content.push(entry.payload ? ({ ...each, payload: entry.payload } as Content) : each)
    }
    // The client's text of these thoughts is a summary; the ones with payloads are authoritative.
    return hasMatch
      ? { ...turn, content: content.filter(each => each.type !== 'thought' || each.payload) }
      : turn
  }
}

/** The owner of remembered thoughts: the account. */
export const ownerOf = ({ slots }: Exchange): string => String(slots.get(ACCOUNT)?.id ?? '')

/** Records the thoughts and calls of one answer. */
export class ThoughtRecorder {
  readonly #save: (id: string, entry: CacheEntry) => void
  readonly #thoughts = new Map<number, Thought>()
  readonly #calls = new Map<number, { readonly id: string; payload?: OpaquePayload }>()

  constructor(save: (id: string, entry: CacheEntry) => void) {
    this.#save = save
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
