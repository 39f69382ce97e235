/** Keys in text that nobody declared as secret: how they are recognised and what stands in their place. Pure. */

/** What stands in the place of a secret. */
export const HIDDEN = '[hidden]'

/** A key that says by its prefix that it is one. */
const KEY = /\b(?:sk|st|pk|rk|key|secret|whsec)[-_](?=[\w.~+%=-]*\d)[\w.~+%=-]{16,}/gi

export const hideKeys = (text: string): string => text.replace(KEY, HIDDEN)

/** Of a path that no route has: hides each part that looks like a credential. Paths of routes hold
 *  ids, which look the same and are needed. */
export const hideKeysInPath = (path: string): string =>
  hideKeys(
    path
      .split('/')
      .map(part => (OPAQUE.test(part) ? HIDDEN : part))
      .join('/'),
  )
/** Long, of mixed letters and digits, or of hexadecimal digits. */
const OPAQUE = /^(?=.*\d)(?=.*[a-z])(?=.*[A-Z]).{20,}$|[0-9A-Fa-f]{32}/
