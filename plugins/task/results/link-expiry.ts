/** When the link of a result expires, as far as the link says it. Pure. */

/** Signatures of object stores: a date, and seconds from it. */
const DATED = /^(x-[a-z]+-)expires$/
const COMPACT_DATE = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/
/** Members with a time: seconds or ms since 1970, or ISO 8601 (`se` of Azure). */
const TIMED: ReadonlySet<string> = new Set(['expires', 'expires_at', 'exp', 'e', 'se'])
/** Tencent: seconds of the start and of the end. */
const SPAN = 'q-sign-time'

/** ms since 1970; undefined if the link does not say it. */
export const expiryOf = (link: string): number | undefined => {
  const query = URL.parse(link)?.searchParams
  if (!query) return undefined
  const members = new Map([...query].map(([name, value]) => [name.toLowerCase(), value]))
  for (const [name, value] of members) {
    const [, prefix] = DATED.exec(name) ?? []
    const time =
      prefix === undefined
        ? timeOf(name, value)
        : dateOf(members.get(`${prefix}date`)) + Number(value) * 1_000
    if (time !== undefined && Number.isFinite(time)) return time
  }
  return undefined
}
const dateOf = (text = ''): number => Date.parse(text.replace(COMPACT_DATE, '$1-$2-$3T$4:$5:$6Z'))
const timeOf = (name: string, value: string): number | undefined => {
  if (name === SPAN) return numberOf(value.split(';')[1] ?? '')
  if (!TIMED.has(name)) return undefined
  return numberOf(value) ?? Date.parse(value)
}
const numberOf = (text: string): number | undefined => {
  if (/^\d{13}$/.test(text)) return Number(text)
  return /^\d{9,10}$/.test(text) ? Number(text) * 1_000 : undefined
}
