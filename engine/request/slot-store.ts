/** The slots of one exchange by name; those with `keep` are saved with a durable task. */
import { errors } from '../errors.ts'
import type { Json, Slot, Slots } from '../plugin.ts'

const fault = errors({
  SLOT_EMPTY: [500, 'no stage filled the slot "%s" on route "%s"', { expose: false }],
})

interface Entry {
  readonly name: string
  value: unknown
  keep: boolean
  readonly next: Entry | undefined
}

/** A linked list: an exchange has a handful of slots, and a Map costs more than all of them. */
export class SlotStore implements Slots {
  readonly #route: string
  #newest: Entry | undefined
  constructor(route: string) {
    this.#route = route
  }
  get<T>(slot: Slot<T>): T | undefined {
    return this.#find(slot.name)?.value as T | undefined
  }
  need<T>(slot: Slot<T>): T {
    const value = this.get(slot)
    if (value === undefined) throw fault('SLOT_EMPTY', [slot.name, this.#route])
    return value
  }
  set<T>(slot: Slot<T>, value: T): void {
    const { name, keep = false } = slot
    const entry = this.#find(name)
    if (!entry) this.#newest = { name, value, keep, next: this.#newest }
    else {
      entry.value = value
      entry.keep ||= keep
    }
  }
  toJson(): { readonly [name: string]: Json } {
    const values: [string, Json][] = []
    for (let entry = this.#newest; entry; entry = entry.next)
      if (entry.keep) values.push([entry.name, entry.value as Json])
    return Object.fromEntries(values.reverse())
  }
  restore(values: { readonly [name: string]: Json }): void {
    for (const [name, value] of Object.entries(values)) this.set({ name, keep: true }, value)
  }
  #find(name: string): Entry | undefined {
    let entry = this.#newest
    while (entry && entry.name !== name) entry = entry.next
    return entry
  }
}
