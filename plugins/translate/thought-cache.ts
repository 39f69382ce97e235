/** Caches thoughts and opaque payloads that a target requires back but that the client's format
 *  cannot carry. The key is the id of a tool call of the same answer. Used only for clients whose
 *  format loses signatures. */
import { LRUCache } from 'lru-cache'
import type { Exchange } from '../../engine/plugin.ts'
import type { Part } from '../formats/hub/answer.ts'
import type { Content, OpaquePayload, Thought } from '../formats/hub/content.ts'
import type { Prompt, Turn } from '../formats/hub/prompt.ts'
import { ACCOUNT } from '../slots.ts'

/** Maximum size of the cache of one process, in bytes of JSON. */
const MAX_BYTES = 16 * 1024 * 1024
/** Lifetime of an entry, ms. A tool that runs longer loses the thoughts before its call. */
const TTL_MS = 60 * 60 * 1000

/** Estimated size of the key of an entry. */
const KEY_BYTES = 64

interface CacheEntry {
  /** The thoughts of the answer that have a payload. */
  readonly thoughts: readonly Thought[]
  readonly payload?: OpaquePayload
}

export class ThoughtCache {
  readonly #entries = new LRUCache<string, CacheEntry>({
    maxSize: MAX_BYTES,
    ttl: TTL_MS,
    sizeCalculation: entry => JSON.stringify(entry).length + KEY_BYTES,
  })
  /** `accountId` is part of the key: a client can choose ids of calls, and must not read the
   *  thoughts of another account. */
  createRecorder(accountId: string): ThoughtRecorder {
    return new ThoughtRecorder((id, entry) => this.#entries.set(`${accountId} ${id}`, entry))
  }
  /** Adds the cached thoughts and payloads to calls that the client sent back without them. */
  restore(prompt: Prompt, accountId: string): Prompt {
    const turns = prompt.turns.map(turn => this.#restoreTurn(turn, accountId))
    return turns.every((turn, index) => turn === prompt.turns[index])
      ? prompt
      : { ...prompt, turns }
  }
  #restoreTurn(turn: Turn, accountId: string): Turn {
    if (turn.role !== 'assistant' || !turn.content.some(({ type }) => type === 'call')) return turn
    // The client has sent the payloads itself.
    if (turn.content.some(each => 'payload' in each && each.payload)) return turn
    const content: Content[] = []
    let hasMatch = false
    for (const each of turn.content) {
      const entry = each.type === 'call' ? this.#entries.get(`${accountId} ${each.id}`) : undefined
      if (!entry) {
        content.push(each)
        continue
      }
      if (!hasMatch) content.push(...entry.thoughts)
      hasMatch = true
      content.push(entry.payload ? ({ ...each, payload: entry.payload } as Content) : each)
    }
    // The cached thoughts replace those of the client, which have no payload.
    return hasMatch
      ? { ...turn, content: content.filter(each => each.type !== 'thought' || each.payload) }
      : turn
  }
}

/** Empty on a route without accounts. */
export const accountIdOf = ({ slots }: Exchange): string => String(slots.get(ACCOUNT)?.id ?? '')

/** Collects the thoughts and calls of one answer, and saves them at its end. */
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
