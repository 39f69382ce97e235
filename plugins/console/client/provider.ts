/** The sign-in by the identity provider, in the browser: where it begins, why it was refused, and
 *  the page to return to. */
import { isTextKey, type TextKey } from './texts.ts'

const PLACE = 'tollgate-place'

/** Undefined: the gateway has none. */
export const providerAddress = (): string | undefined =>
  document.querySelector('meta[name=sign-in]')?.getAttribute('content') ?? undefined

/** The browser leaves the console, and comes back without its place. */
export const keepPlace = (): void => {
  if (location.hash.startsWith('#/')) sessionStorage.setItem(PLACE, location.hash)
}
/** Of this origin: a place begins with `#/`. */
export const restorePlace = (): void => {
  const place = sessionStorage.getItem(PLACE)
  sessionStorage.removeItem(PLACE)
  if (place?.startsWith('#/') && location.hash === '') history.replaceState(null, '', place)
}

export interface Refused {
  readonly reason: TextKey
  readonly request: string
}
/** Why the provider's sign-in was refused; the address no longer says it then. */
export const takeRefused = (): Refused | undefined => {
  if (!location.hash.startsWith('#refused=')) return undefined
  const query = new URLSearchParams(location.hash.slice(1))
  history.replaceState(null, '', location.pathname)
  const code = query.get('refused') ?? ''
  const request = /^[\w-]{1,64}$/.exec(query.get('request') ?? '')?.[0] ?? ''
  const key = `sign-in.refused.${code}`
  return { reason: isTextKey(key) ? key : 'sign-in.refused', request }
}
