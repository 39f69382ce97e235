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
export type Fields = { readonly [key: string]: Json }

const fault = errors({ LITELLM_YAML: [400, 'line %d: %s'] })
const TIMESTAMP = 'tag:yaml.org,2002:timestamp'
const ENVIRONMENT = /^os\.environ\/([A-Za-z_]\w*)$/

export class LitellmSource {
  readonly root: Fields
  readonly #lineAt: (path: Path) => number
  readonly #carried = new Set<string>()
  readonly #notes: Note[] = []

  /** LiteLLM reads YAML 1.1, with merge keys. */
  constructor(text: string) {
    const lines = new LineCounter()
    const document = parseDocument(text, {
      lineCounter: lines,
      version: '1.1',
      // `api_version: 2024-10-21` is a text.
      customTags: tags => tags.filter(tag => typeof tag === 'string' || tag.tag !== TIMESTAMP),
    })
    const [error] = document.errors
    if (error) throw fault('LITELLM_YAML', [lines.linePos(error.pos[0]).line, error.message])
    const content: unknown = document.toJS()
    this.root = isFields(content) ? content : {}
    // A value that an anchor brings has the line of the nearest place that names it.
    this.#lineAt = path => {
      for (let length = path.length; length > 0; length--) {
        const node = nodeAt(document, path.slice(0, length))
        if (node?.range) return lines.linePos(node.range[0]).line
      }
      return 1
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
  /** Takes a text that is not empty, or a number as one. Another value is named. */
  text(path: Path): string | undefined {
    const value = this.peek(path)
    if (isNothing(value)) return undefined
    if (typeof value === 'string' || typeof value === 'number') return String(this.take(path))
    this.note(path, 'it must be a text')
    return undefined
  }
  /** Takes a number, or a text that is one, as LiteLLM reads it. Another value is named. */
  number(path: Path): number | undefined {
    const value = this.peek(path)
    if (isNothing(value)) return undefined
    const number = typeof value === 'string' ? Number(value) : value
    if (typeof number === 'number' && Number.isFinite(number)) return Number(this.take(path))
    this.note(
      path,
      isVariable(String(value))
        ? 'write the number: a variable is not read here'
        : 'it must be a number',
    )
    return undefined
  }
  flag(path: Path): boolean | undefined {
    const value = this.peek(path)
    if (isNothing(value)) return undefined
    if (typeof value === 'boolean') return Boolean(this.take(path))
    this.note(path, 'it must be true or false')
    return undefined
  }
  list(path: Path): readonly Json[] {
    const value = this.peek(path)
    return Array.isArray(value) ? value : []
  }
  fields(path: Path): Fields {
    const value = this.peek(path)
    return isFields(value) ? value : {}
  }
  note(path: Path, reason: string): void {
    if (this.#notes.some(({ name }) => name === nameOf(path))) return
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
    const reason = reasonAt(path, reasons)
    if (reason !== undefined) return this.note(path, reason)
    if (Array.isArray(value) && value.length > 0) {
      for (const [index, each] of value.entries()) this.#visit(each, [...path, index], reasons)
    } else if (isFields(value) && Object.keys(value).length > 0) {
      for (const [key, each] of Object.entries(value)) this.#visit(each, [...path, key], reasons)
    } else if (path.length > 0 && !isNothing(value)) this.note(path, UNKNOWN)
  }
}
const isNothing = (value: Json | undefined): boolean =>
  value === undefined || value === null || value === ''
const UNKNOWN = 'there is no such setting here'

/** `*` in a key stands for any text. */
const reasonAt = (path: Path, reasons: Readonly<Record<string, string>>): string | undefined => {
  const name = path.filter(step => typeof step === 'string').join('.')
  const key = Object.hasOwn(reasons, name)
    ? name
    : Object.keys(reasons).find(each => each.includes('*') && patternOf(each).test(name))
  return key === undefined ? undefined : reasons[key]
}
const patternOf = (key: string): RegExp =>
  new RegExp(`^${key.replaceAll('.', '\\.').replaceAll('*', '.*')}$`)
const nodeAt = (document: ReturnType<typeof parseDocument>, path: Path): Node | undefined => {
  try {
    return document.getIn(path, true) as Node | undefined
  } catch {
    return undefined // a step inside an alias
  }
}

const nameOf = (path: Path): string =>
  path.reduce<string>(
    (name, step) =>
      typeof step === 'number' ? `${name}[${step}]` : name ? `${name}.${step}` : step,
    '',
  )

/** `os.environ/NAME` as a variable of routes.yaml; another text unchanged. `fallback`: without the
 *  variable. */
export const variable = (text: string, fallback = ''): string => {
  const [, name] = ENVIRONMENT.exec(text) ?? []
  return name === undefined ? text.replaceAll('${', () => '$${') : `\${${name}:-${fallback}}`
}
export const isVariable = (text: string): boolean => ENVIRONMENT.test(text)
