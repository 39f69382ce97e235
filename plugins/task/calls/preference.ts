/** The header `Prefer` (RFC 7240): `respond-async`, and the seconds of `wait`. Pure. */

/** ms that a create waits at most: less than a stage may take. */
const LONGEST_WAIT = 50_000

export interface Preference {
  /** ms to wait for the result before the answer is 202. */
  readonly wait: number
}
/** Undefined where the client does not prefer an asynchronous answer. */
export const preferenceOf = (header: string | undefined): Preference | undefined => {
  if (header === undefined) return undefined
  const preferences = header.split(',').map(each => each.trim().toLowerCase())
  if (!preferences.some(each => /^respond-async(?:\s*;|$)/.test(each))) return undefined
  const seconds = preferences.map(each => /^wait\s*=\s*"?(\d{1,6})"?/.exec(each)?.[1]).find(Boolean)
  return { wait: Math.min(LONGEST_WAIT, Number(seconds ?? 0) * 1_000) }
}
