/** The calls of a conversation that have no result so far, by id and by name. */
import type { Call } from '../hub/content.ts'

/** Calls in their order; those before `next` have results. */
interface Queue {
  readonly calls: Call[]
  next: number
}
/** `nameWithoutId`: the name of a call to which the client gave no id. Its result may have one, as
 *  Google takes it. */
type Key = 'id' | 'name' | 'nameWithoutId'

export class OpenCalls {
  readonly #queues: Readonly<Record<Key, Map<string, Queue>>> = {
    id: new Map(),
    name: new Map(),
    nameWithoutId: new Map(),
  }
  readonly #withResult = new Set<Call>()

  add(call: Call, isWithoutId: boolean): void {
    this.#addTo('id', call.id, call)
    this.#addTo('name', call.name, call)
    if (isWithoutId) this.#addTo('nameWithoutId', call.name, call)
  }
  #addTo(key: Key, value: string, call: Call): void {
    const queue = this.#queues[key].get(value)
    if (queue) queue.calls.push(call)
    else this.#queues[key].set(value, { calls: [call], next: 0 })
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
