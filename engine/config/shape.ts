/** Shapes: one definition of an option gives its JSON Schema, the type of the valid raw value, and
 *  a reader with defaults. Validation is that of the schema; readers get valid values. */
import { amountIn, DURATIONS, SIZES } from '../kit.ts'
import type { Json } from '../plugin.ts'

/** Whether a member must be there, may be left out, or has a default. */
type Presence = 'required' | 'optional' | 'default'
/** `read` gets a raw value that fits the schema. */
export interface Shape<Raw, Value = Raw, P extends Presence = Presence> {
  readonly schema: {
    readonly description?: string
    readonly properties?: Readonly<Record<string, object>>
    readonly [keyword: string]: unknown
  }
  readonly presence: P
  /** The value of a member that is left out; undefined: none. */
  readonly fallback: unknown
  readonly read: (raw: Raw) => Value
}
type AnyShape = Shape<never, unknown>
export type Fields = Readonly<Record<string, AnyShape>>
/** The value as the schema accepts it, and as the reader returns it. */
export type RawOf<S extends AnyShape> = Parameters<S['read']>[0]
export type ValueOf<S extends AnyShape> = ReturnType<S['read']>

/** Further keywords of the schema. The order of keywords does not matter. */
export type Notes = { readonly default?: unknown; readonly [keyword: string]: unknown }
type None = Readonly<Record<string, never>>
type PresenceBy<N> = N extends { readonly default: unknown } ? 'default' : 'optional'
/** The names of fields that have one of these presences. */
type Named<F extends Fields, P extends Presence> = {
  [K in keyof F]: F[K]['presence'] extends P ? K : never
}[keyof F]
type Flat<T> = { readonly [K in keyof T]: T[K] }
type RawFields<F extends Fields> = Flat<
  { readonly [K in Named<F, 'required'>]: RawOf<F[K]> } & {
    readonly [K in Named<F, 'optional' | 'default'>]?: RawOf<F[K]>
  }
>
type ValueFields<F extends Fields> = Flat<
  { readonly [K in Named<F, 'required' | 'default'>]: ValueOf<F[K]> } & {
    readonly [K in Named<F, 'optional'>]?: ValueOf<F[K]>
  }
>

/** Without a description: an alternative that the text around it describes. */
const create = <Raw, Value, const N extends Notes>(
  description: string | undefined,
  checks: object,
  notes: N | undefined,
  read: (raw: Raw) => Value,
): Shape<Raw, Value, PresenceBy<N>> => ({
  schema: { ...(description !== undefined && { description }), ...checks, ...notes },
  presence: (notes && 'default' in notes ? 'default' : 'optional') as PresenceBy<N>,
  fallback: notes?.default,
  read,
})
const same = <T>(value: T): T => value

export const text = <const N extends Notes = None>(description: string, notes?: N) =>
  create<string, string, N>(description, { type: 'string' }, notes, same)
export const integer = <const N extends Notes = None>(description: string, notes?: N) =>
  create<number, number, N>(description, { type: 'integer' }, notes, Number)
export const number = <const N extends Notes = None>(description: string, notes?: N) =>
  create<number, number, N>(description, { type: 'number' }, notes, Number)
export const flag = <const N extends Notes = None>(description: string, notes?: N) =>
  create<boolean, boolean, N>(description, { type: 'boolean' }, notes, same)
/** One word. */
export const constant = <const W extends string, const N extends Notes = None>(
  description: string,
  word: W,
  notes?: N,
) => create<W, W, N>(description, { const: word }, notes, same)
export const oneOf = <const W extends string | boolean, const N extends Notes = None>(
  description: string | undefined,
  words: readonly W[],
  notes?: N,
) => create<W, W, N>(description, { enum: words }, notes, same)
interface Types {
  readonly string: string
  readonly number: number
  readonly integer: number
  readonly boolean: boolean
}
/** A value of one of some types. */
export const ofTypes = <const T extends keyof Types, const N extends Notes = None>(
  description: string,
  types: readonly T[],
  notes?: N,
) => create<Types[T], Types[T], N>(description, { type: types }, notes, same)
/** Any JSON value, as far as the notes say no more. */
export const json = <const N extends Notes = None>(description: string, notes?: N) =>
  create<Json, Json, N>(description, {}, notes, same)

/** A text with a value of its own, such as a call or an interval. `parse` gets a valid text. */
export const parsed = <Value, const N extends Notes = None>(
  description: string,
  pattern: string,
  parse: (text: string) => Value,
  notes?: N,
) => create<string, Value, N>(description, { type: 'string', pattern }, notes, parse)

/** The grammar of times that are stored in the database, and hence may be longer than a timer. */
export const TIME = '^([1-9][0-9]{0,4})(ms|s|m|h|d)$'
/** Reads ms. The notes may have a narrower pattern. */
export const duration = <const N extends Notes = None>(description: string, notes?: N) =>
  parsed(description, TIME, raw => amountIn(raw, DURATIONS), notes)
/** Reads bytes. The notes may have a narrower pattern. */
export const size = <const N extends Notes = None>(description: string, notes?: N) =>
  parsed(description, '^[1-9][0-9]{0,5}(B|KiB|MiB|GiB)$', raw => amountIn(raw, SIZES), notes)

/** `60/min`: an amount in each second, minute or hour. */
export interface Rate {
  readonly amount: bigint
  readonly per: string
  readonly ms: number
}
export const RATE = '^([1-9][0-9]{0,8})\\/(s|min|h)$'
const PERIODS: Readonly<Record<string, number>> = { s: 1_000, min: 60_000, h: 3_600_000 }
/** `text`: fits `RATE`. */
export const rateOf = (text: string): Rate => {
  const [amount = '1', per = 'min'] = text.split('/')
  return { amount: BigInt(amount), per, ms: PERIODS[per] ?? 60_000 }
}
export const rate = <const N extends Notes = None>(description: string, notes?: N) =>
  parsed(description, RATE, rateOf, notes)

export const list = <S extends AnyShape, const N extends Notes = None>(
  description: string | undefined,
  items: S,
  notes?: N,
) =>
  create<readonly RawOf<S>[], readonly ValueOf<S>[], N>(
    description,
    { type: 'array', items: items.schema },
    notes,
    raw => raw.map(each => items.read(each as never) as ValueOf<S>),
  )
/** One value, or a list; reads a list. `item`: reads the values, if those of a list differ. */
export const oneOrMore = <S extends AnyShape, const N extends Notes = None, I extends AnyShape = S>(
  description: string,
  one: S,
  notes?: N,
  item: I = one as never,
) => {
  const { description: _, examples: __, type, ...checks } = one.schema
  const { schema, read } = list(description, item, { ...checks, type: [type, 'array'], ...notes })
  return create<RawOf<S> | readonly RawOf<I>[], readonly ValueOf<I>[], N>(
    description,
    schema,
    notes,
    raw => read((Array.isArray(raw) ? raw : [raw]) as never),
  )
}

/** Members of any name. */
export const map = <S extends AnyShape, const N extends Notes = None>(
  description: string,
  members: S,
  notes?: N,
) =>
  create<Readonly<Record<string, RawOf<S>>>, Readonly<Record<string, ValueOf<S>>>, N>(
    description,
    { type: 'object', additionalProperties: members.schema },
    notes,
    raw =>
      Object.fromEntries(
        Object.entries(raw).map(([name, each]) => [name, members.read(each as never)]),
      ) as Record<string, ValueOf<S>>,
  )

/** Members with names; others are refused. */
export const object = <const F extends Fields, const N extends Notes = None>(
  description: string | undefined,
  fields: F,
  notes?: N,
) => {
  const names = Object.keys(fields).filter(name => fields[name]?.presence === 'required')
  const checks = {
    type: 'object',
    ...(names.length > 0 && { required: names }),
    additionalProperties: false,
    ...(Object.keys(fields).length > 0 && { properties: schemasOf(fields) }),
  }
  return create<RawFields<F>, ValueFields<F>, N>(description, checks, notes, readerOf(fields))
}
/** For keys of upstreams and settings, as `readerOf`. */
export const schemasOf = (fields: Fields): Readonly<Record<string, object>> =>
  Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema]))

/** Members that are left out without a default stay left out. */
export const readerOf = <F extends Fields>(fields: F) => {
  const entries = Object.entries(fields)
  return (raw: RawFields<F>): ValueFields<F> => {
    const value: Record<string, unknown> = {}
    for (const [name, { fallback, read }] of entries) {
      const member = (raw as Readonly<Record<string, unknown>>)[name]
      const each = member === undefined ? fallback : member
      if (each !== undefined) value[name] = read(each as never)
    }
    return value as ValueFields<F>
  }
}

/** The first shape whose kind of JSON value it is reads it; words come before texts. */
export const anyOf = <const S extends readonly AnyShape[], const N extends Notes = None>(
  description: string | undefined,
  shapes: S,
  notes?: N,
) =>
  create<RawOf<S[number]>, ValueOf<S[number]>, N>(
    description,
    { anyOf: shapes.map(({ schema }) => schema) },
    notes,
    raw => {
      const shape = shapes.find(({ schema }) => isOfKind(raw, schema))
      return (shape?.read(raw) ?? raw) as ValueOf<S[number]>
    },
  )
/** Words with a type may be more than the shape knows. Objects differ by what they require. */
const isOfKind = (value: unknown, schema: AnyShape['schema']): boolean => {
  const { const: word, enum: words = [word], type, required = [] } = schema
  if (type === undefined) return (words as readonly unknown[]).includes(value)
  const kind = Array.isArray(value) ? 'array' : typeof value
  const hasMembers = (required as readonly string[]).every(name => name in Object(value))
  return (
    hasMembers &&
    [type].flat().some(each => each === kind || (each === 'integer' && kind === 'number'))
  )
}

/** The same schema, with a reader of what its reader returns. */
export const reading = <Raw, Value, P extends Presence, Result>(
  shape: Shape<Raw, Value, P>,
  read: (value: Value) => Result,
): Shape<Raw, Result, P> => ({ ...shape, read: raw => read(shape.read(raw)) })
export const required = <Raw, Value>(shape: Shape<Raw, Value>): Shape<Raw, Value, 'required'> => ({
  ...shape,
  presence: 'required',
})
/** A member that reads as `fallback` if it is left out, without a default in the schema: the
 *  description says it. */
export const orElse = <Raw, Value>(
  shape: Shape<Raw, Value>,
  fallback: NoInfer<Raw>,
): Shape<Raw, Value, 'default'> => ({ ...shape, presence: 'default', fallback })
/** An object that is read with the defaults of its members if it is left out. */
export const objectOfDefaults = <const F extends Fields, const N extends Notes = None>(
  description: string,
  fields: F,
  notes?: N,
) => orElse(object(description, fields, notes), {} as RawFields<F>)
/** The same shape with other keywords, such as another description. */
export const annotate = <S extends AnyShape>(shape: S, notes: object): S => ({
  ...shape,
  schema: { ...shape.schema, ...notes },
})
