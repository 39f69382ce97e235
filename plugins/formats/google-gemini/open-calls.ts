/** The calls of a conversation that have no result so far, by id and by name. */
import type { Call } from '../hub/content.ts'

/** Calls in their order; those before `next` have results. */
interface Queue {
  readonly calls: Call[]
  next: number
}
type Key = 'id' | 'name'

export class OpenCalls {
  readonly #queues = { id: new Map<string, Queue>(), name: new Map<string, Queue>() }
  readonly #withResult = new Set<Call>()

  add(call: Call): void {
    for (const key of ['id', 'name'] as const) {
      const queue = this.#queues[key].get(call[key])
      if (queue) queue.calls.push(call)
      else this.#queues[key].set(call[key], { calls: [call], next: 0 })
    }
  }
  /** The first such call, which has a result from then on. */
  take(key: Key, value: string): Call | undefined {
    const queue = this.#queues[key].get(value)
    if (!queue) return undefined
    let call = queue.calls[queue.next]
    while (call && this.#withResult.has(call)) call = queue.calls[++queue.next]
    if (call) this.#withResult.add(call)
    return call
  }
}
