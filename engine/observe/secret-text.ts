/** Hides keys in text that are not declared as secrets: recognises them by their form. Pure. */

/** The text that replaces a secret. */
export const HIDDEN = '[hidden]'

/** A key with a prefix such as `sk-`. */
const KEY = /\b(?:sk|st|pk|rk|key|secret|whsec)[-_](?=[\w.~+%=-]*\d)[\w.~+%=-]{16,}/gi

export const hideKeys = (text: string): string => text.replace(KEY, HIDDEN)

/** Hides segments that look like a credential. Only for paths without a route, since ids may look
 *  the same. */
export const hideKeysInPath = (path: string): string =>
  hideKeys(
    path
      .split('/')
      .map(part => (CREDENTIAL_LIKE.test(part) ? HIDDEN : part))
      .join('/'),
  )
/** At least 20 characters with digits and letters of both cases, or 32 hexadecimal digits. */
const CREDENTIAL_LIKE = /^(?=.*\d)(?=.*[a-z])(?=.*[A-Z]).{20,}$|[0-9A-Fa-f]{32}/
