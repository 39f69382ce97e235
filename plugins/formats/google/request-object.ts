/** A strict reader of one object of a client's request. Accepts camelCase and snake_case names,
 *  treats null as absent, and records which members were read. */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import { type Fields, isFields } from '../fields.ts'
import type { DroppedFields } from '../hub/codec.ts'

export class RequestObject {
  readonly fields: Fields
  /** The path of the object for error messages; '' for the body. */
  readonly path: string
  /** Members that were read, of those that the object has. */
  readonly #readNames = new Set<string>()
  readonly #hasSnakeNames: boolean

  constructor(fields: Fields, at = '') {
    this.fields = fields
    this.path = at
    this.#hasSnakeNames = Object.keys(fields).some(key => key.includes('_'))
  }
  static of(value: Json | undefined, at: string): RequestObject {
    if (!isFields(value)) throw typeFault(at, 'an object')
    return new RequestObject(value, at)
  }
  /** The unchecked value. */
  value(name: string): Json | undefined {
    const key = this.#key(name)
    const value = this.fields[key]
    if (value === undefined) return undefined
    this.#readNames.add(key)
    return value ?? undefined
  }
  has(name: string): boolean {
    return (this.fields[this.#key(name)] ?? null) !== null
  }
  pathOf(name: string): string {
    const key = this.#key(name)
    return this.path === '' ? key : `${this.path}.${key}`
  }
  text(name: string): string | undefined {
    const value = this.value(name)
    if (value === undefined || typeof value === 'string') return value
    throw typeFault(this.pathOf(name), 'a string')
  }
  requiredText(name: string): string {
    const value = this.text(name)
    if (value) return value
    throw fault('MEMBER_MISSING', [this.pathOf(name)], { param: this.pathOf(name) })
  }
  /** Google's JSON mapping allows numbers as strings. */
  number(name: string): number | undefined {
    const value = this.value(name)
    if (value === undefined || typeof value === 'number') return value
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN
    if (Number.isFinite(number)) return number
    throw typeFault(this.pathOf(name), 'a number')
  }
  flag(name: string): boolean | undefined {
    const value = this.value(name)
    if (value === undefined || typeof value === 'boolean') return value
    throw typeFault(this.pathOf(name), 'a boolean')
  }
  object(name: string): RequestObject | undefined {
    const value = this.value(name)
    return value === undefined ? undefined : RequestObject.of(value, this.pathOf(name))
  }
  /** A single object counts as a list of one, as in Google's API. */
  list(name: string): readonly Json[] {
    const value = this.value(name)
    if (value === undefined) return []
    if (Array.isArray(value)) return value
    if (isFields(value)) return [value]
    throw typeFault(this.pathOf(name), 'an array')
  }
  objects(name: string): readonly RequestObject[] {
    const path = this.pathOf(name)
    return this.list(name).map((value, index) => RequestObject.of(value, `${path}[${index}]`))
  }
  texts(name: string): readonly string[] {
    const path = this.pathOf(name)
    return this.list(name).map((value, index) => {
      if (typeof value === 'string') return value
      throw typeFault(`${path}[${index}]`, 'a string')
    })
  }
  /** Reports the members that were not read, except the `harmless` ones. */
  reportUnread(dropped: DroppedFields, ...harmless: readonly string[]): void {
    for (const key in this.fields)
      if (this.fields[key] !== null && !this.#readNames.has(key) && !harmless.includes(key))
        dropped.add(this.path === '' ? key : `${this.path}.${key}`)
  }
  #key(name: string): string {
    if (!this.#hasSnakeNames || name in this.fields) return name
    const snake = name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
    return snake in this.fields ? snake : name
  }
}

export const typeFault = (at: string, kind: string): Error =>
  fault('MEMBER_TYPE', [at === '' ? 'body' : at, kind], { param: at })
export const valueFault = (at: string, why: string): Error =>
  fault('MEMBER_VALUE', [at, why], { param: at })
