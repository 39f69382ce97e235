/** The slots of one exchange: values by name, and which of them travel with a durable task. */
import { errors } from './errors.ts'
import type { Json, Slot, Slots } from './plugin.ts'

const fault = errors({
  SLOT_EMPTY: [500, 'nobody filled the slot "%s" on route "%s"', { expose: false }],
})

export class Places implements Slots {
  readonly #values = new Map<string, unknown>()
  readonly #keep: string[] = []
  readonly #route: string
  constructor(route: string) {
    this.#route = route
  }
  get<T>(slot: Slot<T>): T | undefined {
    return this.#values.get(slot.name) as T | undefined
  }
  need<T>(slot: Slot<T>): T {
    const value = this.get(slot)
    if (value === undefined) throw fault('SLOT_EMPTY', [slot.name, this.#route])
    return value
  }
  set<T>(slot: Slot<T>, value: T): void {
    if (slot.keep && !this.#keep.includes(slot.name)) this.#keep.push(slot.name)
    this.#values.set(slot.name, value)
  }
  saved(): { readonly [name: string]: Json } {
    return Object.fromEntries(this.#keep.map(name => [name, this.#values.get(name) as Json]))
  }
  restore(saved: { readonly [name: string]: Json }): void {
    for (const [name, value] of Object.entries(saved)) this.set({ name, keep: true }, value)
  }
}
