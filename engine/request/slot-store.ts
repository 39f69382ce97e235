/** The slots of one exchange: values by name, and which of them travel with a durable task. */
import { errors } from '../errors.ts'
import type { Json, Slot, Slots } from '../plugin.ts'

const fault = errors({
  SLOT_EMPTY: [500, 'nobody filled the slot "%s" on route "%s"', { expose: false }],
})

interface Place {
  readonly name: string
  value: unknown
  keep: boolean
  readonly next: Place | undefined
}

/** A chain: an exchange has a handful of slots, and a Map costs more than all of them. */
export class Places implements Slots {
  readonly #route: string
  #first: Place | undefined
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
    const found = this.#find(name)
    if (!found) this.#first = { name, value, keep, next: this.#first }
    else {
      found.value = value
      found.keep ||= keep
    }
  }
  saved(): { readonly [name: string]: Json } {
    const kept: [string, Json][] = []
    for (let place = this.#first; place; place = place.next)
      if (place.keep) kept.push([place.name, place.value as Json])
    return Object.fromEntries(kept.reverse())
  }
  restore(saved: { readonly [name: string]: Json }): void {
    for (const [name, value] of Object.entries(saved)) this.set({ name, keep: true }, value)
  }
  #find(name: string): Place | undefined {
    let place = this.#first
    while (place && place.name !== name) place = place.next
    return place
  }
}
