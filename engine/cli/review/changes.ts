/** The differences of two configurations, value by value, with secrets masked. Pure. */
import { isDeepStrictEqual } from 'node:util'
import { isFields } from '../../kit.ts'
import type { Document, Json } from '../../plugin.ts'

export interface Change {
  /** `routes`, `upstreams`. */
  readonly section: string
  readonly kind: 'added' | 'removed' | 'changed'
  /** The name of the entry, and the keys below it: `reports timeout.idle`. */
  readonly name: string
  /** Shortened, with secrets masked; empty for whole entries. */
  readonly before?: string
  readonly after?: string
}

/** `mask`: hides secrets in a text. */
export const changesBetween = (
  before: Document,
  after: Document,
  mask: (text: string) => string,
): readonly Change[] => {
  const sections = new Set([...Object.keys(before), ...Object.keys(after)])
  // Included files are compared themselves.
  sections.delete('include')
  return [...sections].flatMap(section =>
    entriesOf(section, named(section, before[section]), named(section, after[section]), mask),
  )
}

type Fields = { readonly [key: string]: Json }
/** The entries of a section by name. Routes are a list, and keep their name or path. */
const named = (section: string, value: Json | undefined): Fields => {
  if (value === undefined) return {}
  if (isFields(value)) return value
  if (section !== 'routes' || !Array.isArray(value)) return { '': value }
  return Object.fromEntries(
    (value as readonly Fields[]).map(route => [String(route.name ?? route.path), route]),
  )
}

const entriesOf = (
  section: string,
  before: Fields,
  after: Fields,
  mask: (text: string) => string,
): readonly Change[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name): Change[] => {
    const [from, to] = [before[name], after[name]]
    if (from === undefined) return [{ section, kind: 'added', name }]
    if (to === undefined) return [{ section, kind: 'removed', name }]
    return valuesOf([name], from, to).map(({ path, ...values }) => ({
      section,
      kind: 'changed',
      name: labelOf(path),
      ...shorten(path, values, mask),
    }))
  })
const labelOf = ([name, ...keys]: readonly string[]): string =>
  [name, keys.join('.')].filter(Boolean).join(' ')

interface ValueChange {
  readonly path: readonly string[]
  readonly before: Json | undefined
  readonly after: Json | undefined
}
/** Descends into maps; lists are compared whole. */
const valuesOf = (
  path: readonly string[],
  before: Json | undefined,
  after: Json | undefined,
): readonly ValueChange[] => {
  if (isDeepStrictEqual(before, after)) return []
  if (!isFields(before) || !isFields(after)) return [{ path, before, after }]
  const keys = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...keys].flatMap(key => valuesOf([...path, key], before[key], after[key]))
}

const WIDTH = 60
const shorten = (
  path: readonly string[],
  { before, after }: Omit<ValueChange, 'path'>,
  mask: (text: string) => string,
) => {
  const isKey = path.at(-1) === 'key'
  const text = (value: Json | undefined): string | undefined => {
    if (value === undefined) return undefined
    if (isKey) return keyCount(value)
    const whole = mask(typeof value === 'string' ? value : JSON.stringify(value))
    return whole.length > WIDTH ? `${whole.slice(0, WIDTH - 1)}…` : whole
  }
  const [from, to] = [text(before), text(after)]
  return { ...(from !== undefined && { before: from }), ...(to !== undefined && { after: to }) }
}
/** Keys are never shown, not even masked: only how many there are. */
const keyCount = (value: Json): string => {
  const count = [value].flat().filter(each => each !== '').length
  return `${count} ${count === 1 ? 'key' : 'keys'}`
}
