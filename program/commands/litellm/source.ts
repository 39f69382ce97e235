/** A LiteLLM configuration with the line of each value. Values that are read count as carried; the
 *  others are reported. */
import { LineCounter, type Node, parseDocument } from 'yaml'
import { errors } from '../../../engine/errors.ts'
import { isFields } from '../../../engine/kit.ts'
import type { Json } from '../../../engine/plugin.ts'

export interface Note {
  readonly line: number
  /** `litellm_settings.cache`. */
  readonly name: string
  readonly reason: string
}
export type Path = readonly (string | number)[]
type Fields = { readonly [key: string]: Json }

const fault = errors({ LITELLM_YAML: [400, 'line %d: %s'] })

export class LitellmSource {
  readonly root: Fields
  readonly #lineAt: (path: Path) => number
  readonly #carried = new Set<string>()
  readonly #notes: Note[] = []

  constructor(text: string) {
    const lines = new LineCounter()
    const document = parseDocument(text, { lineCounter: lines })
    const [error] = document.errors
    if (error) throw fault('LITELLM_YAML', [lines.linePos(error.pos[0]).line, error.message])
    const content: unknown = document.toJS()
    this.root = isFields(content) ? content : {}
    this.#lineAt = path => {
      const node = document.getIn(path, true) as Node | undefined
      return lines.linePos(node?.range?.[0] ?? 0).line
    }
  }
  /** The value at a path, which then counts as carried. */
  take(path: Path): Json | undefined {
    this.#carried.add(path.join('\0'))
    return this.peek(path)
  }
  peek(path: Path): Json | undefined {
    let value: Json | undefined = this.root
    for (const step of path)
      value = isFields(value) ? value[step] : Array.isArray(value) ? value[Number(step)] : undefined
    return value
  }
  text(path: Path): string | undefined {
    const value = this.take(path)
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  number(path: Path): number | undefined {
    const value = this.take(path)
    return typeof value === 'number' ? value : undefined
  }
  note(path: Path, reason: string): void {
    this.#notes.push({ line: this.#lineAt(path), name: nameOf(path), reason })
    this.#carried.add(path.join('\0'))
  }
  /** The notes, and one for each value that was not carried. `reasons`: by name without indexes. */
  notes(reasons: Readonly<Record<string, string>>): readonly Note[] {
    this.#visit(this.root, [], reasons)
    return this.#notes.toSorted((one, other) => one.line - other.line)
  }
  #visit(value: Json, path: Path, reasons: Readonly<Record<string, string>>): void {
    if (this.#carried.has(path.join('\0'))) return
    const reason = reasons[path.filter(step => typeof step === 'string').join('.')]
    if (reason !== undefined) return this.note(path, reason)
    if (Array.isArray(value)) {
      for (const [index, each] of value.entries()) this.#visit(each, [...path, index], reasons)
    } else if (isFields(value)) {
      for (const [key, each] of Object.entries(value)) this.#visit(each, [...path, key], reasons)
    } else if (path.length > 0) this.note(path, 'there is no such setting here')
  }
}

const nameOf = (path: Path): string =>
  path.reduce<string>(
    (name, step) =>
      typeof step === 'number' ? `${name}[${step}]` : name ? `${name}.${step}` : step,
    '',
  )
