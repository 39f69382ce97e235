/** The header `Prefer` (RFC 7240): `respond-async`, and the seconds of `wait`. Pure. */

/** ms that a create waits at most: less than a stage may take. */
const LONGEST_WAIT = 50_000

export interface Preference {
  /** ms to wait for the result before the answer is 202. */
  readonly wait: number
}
/** Whole seconds. An invalid preference is ignored (RFC 7240 §2). */
const WAIT = /^wait\s*=\s*(?:"(\d+)"|(\d+))\s*(?:;|$)/

/** Undefined if the client does not prefer an asynchronous answer. */
export const preferenceOf = (header: string | undefined): Preference | undefined => {
  if (header === undefined) return undefined
  const preferences = header.split(',').map(each => each.trim().toLowerCase())
  if (!preferences.some(each => /^respond-async(?:\s*;|$)/.test(each))) return undefined
  const [wait] = preferences.flatMap(each => WAIT.exec(each) ?? [])
  const seconds = wait?.replace(/\D+/g, '')
  return { wait: Math.min(LONGEST_WAIT, Number(seconds ?? 0) * 1_000) }
}
