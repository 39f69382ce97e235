/** Parses command arguments: names, numbers, expiry, limits. Throws a UsageError that describes the
 *  valid values. */
import { instantIn, UsageError } from '../../engine/cli/kit.ts'
import { RATE } from '../../engine/config/shape.ts'
import { amountIn, DURATIONS } from '../../engine/kit.ts'
import { type OwnLimits, TAG_LIST, TAG_LIST_LENGTH, ZONE } from '../slots.ts'
import type { PeriodName } from './quota.ts'

export const nameOf = (text: string | undefined, what: string): string => {
  const name = text?.trim() ?? ''
  // A number would be ambiguous with an account's number.
  if (/^[\p{L}\p{N}][\p{L}\p{N} ._@+-]{0,63}$/u.test(name) && !/^\d+$/.test(name)) return name
  throw new UsageError(
    `${what} needs a name of 1 to 64 letters, digits, spaces and . _ @ + -, not a number alone`,
  )
}
/** The text of --note; empty by default. */
export const noteOf = (text: unknown): string => {
  const note = typeof text === 'string' ? text.trim() : ''
  if (note.length <= 200 && !/\p{Cc}/u.test(note)) return note
  throw new UsageError('--note must be one line of at most 200 characters')
}
export const numberOf = (text: string | undefined, what: string): number => {
  const number = Number(text)
  if (/^[1-9]\d*$/.test(text ?? '') && Number.isSafeInteger(number)) return number
  throw new UsageError(`${what} must be a whole number above 0`)
}
/** `option`: how the operator writes it. */
export const roleOf = (text: string | undefined, option = '--role'): 'customer' | 'admin' => {
  if (text === undefined || text === 'customer') return 'customer'
  if (text === 'admin') return 'admin'
  throw new UsageError(`${option} must be customer or admin`)
}

/** `30d`, `12h`, `90m`, or a date such as 2030-01-31 or 2030-01-31T12:00:00Z. ms since 1970. */
export const expiryOf = (text: string | undefined, now: number): number | undefined => {
  if (text === undefined) return undefined
  const at = /^\d{1,6}[mhd]$/.test(text) ? now + amountIn(text, DURATIONS) : instantIn(text)
  if (Number.isNaN(at))
    throw new UsageError('--expires must be a time such as 30d, 12h or 2030-01-31')
  if (at <= now) throw new UsageError(`--expires ${text} is in the past`)
  return at
}

export const modelsOf = (text: string | undefined): readonly string[] | undefined => {
  if (text === undefined) return undefined
  const names = text.split(',').map(name => name.trim())
  if (names.every(Boolean)) return names
  throw new UsageError('--models must be a comma-separated list of names')
}
const rateOf = (text: string, what: string): string => {
  if (new RegExp(RATE).test(text)) return text
  throw new UsageError(`${what} must be a rate such as 60/min`)
}
const zoneOf = (text: string, what: string): string => {
  if (new RegExp(ZONE).test(text)) return text
  throw new UsageError(`${what} must be the name of a zone such as eu`)
}
const retentionOf = (text: string, what: string): 'none' => {
  if (text === 'none') return text
  throw new UsageError(`${what} must be none: only upstreams that keep nothing`)
}
export const tagsOf = (text: string, what: string): string => {
  if (text.length <= TAG_LIST_LENGTH && new RegExp(TAG_LIST).test(text)) return text
  throw new UsageError(
    `${what} must be tags such as project=alpha,feature=search, of at most ${TAG_LIST_LENGTH} characters`,
  )
}
type LimitReaders = {
  readonly [Name in keyof OwnLimits]-?: (text: string, what: string) => OwnLimits[Name]
}
const LIMIT_READERS: LimitReaders = {
  requests: rateOf,
  tokens: rateOf,
  concurrency: numberOf,
  zone: zoneOf,
  retention: retentionOf,
  tags: tagsOf,
}
export const LIMIT_NAMES = Object.keys(LIMIT_READERS) as readonly (keyof OwnLimits)[]
/** `textOf`: the text of a limit. `prefix`: what is before its name where the operator writes it.
 *  Undefined without any limit. */
export const limitsOf = (
  textOf: (name: keyof OwnLimits) => string | undefined,
  prefix = '--',
): OwnLimits | undefined => {
  const members = LIMIT_NAMES.flatMap(name => {
    const text = textOf(name)
    return text === undefined ? [] : [[name, LIMIT_READERS[name](text, `${prefix}${name}`)]]
  })
  return members.length === 0 ? undefined : Object.fromEntries(members)
}
/** `5000000`: for life; `5000000/day`, `5000000/month`: for each of them. */
export const quotaOf = (text: string) => {
  const [, units, period] = /^([1-9]\d{0,14})(?:\/(day|month))?$/.exec(text) ?? []
  if (units === undefined)
    throw new UsageError('--quota must be a whole number above 0, alone or with /day or /month')
  return { quota: Number(units), quota_period: (period ?? null) as PeriodName | null }
}
