/** Numbers, money and times as text, in the language of the page. */

const localeOf = (): string => (document.documentElement.lang === 'zh' ? 'zh-CN' : 'en-GB')

/** Formatters by their language and options: to make one costs far more than to use it, and a table
 *  formats thousands of values while it is scrolled. */
const formatters = {
  numbers: new Map<string, Intl.NumberFormat>(),
  times: new Map<string, Intl.DateTimeFormat>(),
  relative: new Map<string, Intl.RelativeTimeFormat>(),
}
const cached = <T>(all: Map<string, T>, key: string, create: () => T): T => {
  const present = all.get(key) ?? create()
  all.set(key, present)
  return present
}
const numbers = (name: string, options: Intl.NumberFormatOptions): Intl.NumberFormat => {
  const locale = localeOf()
  return cached(
    formatters.numbers,
    `${locale} ${name}`,
    () => new Intl.NumberFormat(locale, options),
  )
}
const times = (name: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat => {
  const locale = localeOf()
  return cached(
    formatters.times,
    `${locale} ${name}`,
    () => new Intl.DateTimeFormat(locale, options),
  )
}

export const formatNumber = (value: number, most = 0): string =>
  numbers(`number ${most}`, { maximumFractionDigits: most }).format(value)
export const formatPercent = (share: number): string =>
  numbers('percent', { style: 'percent', maximumFractionDigits: 1 }).format(share)

const PLACES = 6
/** An amount with six places, split so that the zeros at its end can be dimmed. At least two places
 *  stay. A decimal text keeps all its digits. */
export const splitMoney = (amount: number | string): readonly [digits: string, zeros: string] => {
  const whole = numbers('money', {
    minimumFractionDigits: PLACES,
    maximumFractionDigits: PLACES,
  }).format(amount as number | `${number}`)
  const zeros = Math.min(/0*$/.exec(whole)?.[0].length ?? 0, PLACES - 2)
  return [whole.slice(0, whole.length - zeros), whole.slice(whole.length - zeros)]
}
/** Nanos as a decimal text, without a float. */
export const amountOfNanos = (nanos: string): string => {
  const digits = nanos.padStart(10, '0')
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`
}
/** An amount with two to six places and its currency. */
export const formatMoney = (amount: number | string, currency: string): string =>
  `${splitMoney(amount)[0]} ${currency}`

export const formatTime = (at: string | number): string =>
  times('time', { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(at))
export const formatDay = (at: string | number): string =>
  times('day', { month: 'short', day: 'numeric', timeZone: 'UTC' }).format(new Date(at))

const UNITS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]
/** `3 minutes ago`, `in 2 days`. */
export const formatRelative = (at: string | number, now = Date.now()): string => {
  const seconds = (new Date(at).getTime() - now) / 1_000
  const locale = localeOf()
  const relative = cached(
    formatters.relative,
    locale,
    () => new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }),
  )
  for (const [unit, size] of UNITS)
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit)
  return relative.format(Math.trunc(seconds), 'second')
}

const SIZES = ['B', 'KiB', 'MiB', 'GiB']
/** */
export const formatBytes = (bytes: number): string => {
  const step = Math.min(SIZES.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  return `${formatNumber(bytes / 1024 ** step, step === 0 ? 0 : 1)} ${SIZES[step]}`
}

const BROWSERS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['Edge', /Edg(?:e|A|iOS)?\//],
  ['Opera', /OPR\//],
  ['Firefox', /(?:Firefox|FxiOS)\//],
  ['Chrome', /(?:Chrome|CriOS)\//],
  ['Safari', /Safari\//],
]
const SYSTEMS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['Android', /Android/],
  ['iOS', /iPhone|iPad/],
  ['macOS', /Mac OS X/],
  ['Windows', /Windows/],
  ['ChromeOS', /CrOS/],
  ['Linux', /Linux/],
]
/** The names in what a browser says it is; undefined: it says something else. */
export const browserOf = (agent: string): { browser: string; system: string } | undefined => {
  const [browser] = BROWSERS.find(([, pattern]) => pattern.test(agent)) ?? []
  const [system] = SYSTEMS.find(([, pattern]) => pattern.test(agent)) ?? []
  return browser && system ? { browser, system } : undefined
}

/** The middle of a long id is left out. */
export const shortenId = (id: string): string =>
  id.length <= 18 ? id : `${id.slice(0, 9)}…${id.slice(-6)}`

/** The first day of the present month, UTC: `2030-01-01`. */
export const monthStart = (): string => `${thisMonth()}-01`
/** The month of now (UTC): `2026-11`. */
export const thisMonth = (): string => new Date().toISOString().slice(0, 7)
