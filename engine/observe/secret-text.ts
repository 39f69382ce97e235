/** Hides keys in text that are not declared as secrets: recognises them by their form. Pure. */

/** The text that replaces a secret. */
export const HIDDEN = '[hidden]'

/** A key with a prefix such as `sk-`. */
const KEY = /\b(?:sk|st|pk|rk|key|secret|whsec)[-_](?=[\w.~+%=-]*\d)[\w.~+%=-]{16,}/gi

const hideKeys = (text: string): string => text.replace(KEY, HIDDEN)

// Any query parameter may be a credential (`?key=`), and so may the text before an `@`.
const SUSPECT = /[=@]|bearer |basic |(?:sk|st|pk|rk|key|secret|whsec)[-_]/i
const QUERY = /([?&][\w.~-]+=)[^&"\s\\#]+/g
const USERINFO = /:\/\/[^/?#\s"@]+@/g
const CREDENTIAL = /\b((?:bearer|basic) )[\w.~+/=-]+/gi

/** Hides what has the form of a secret: keys, credentials in headers and in URLs. */
export const hideSecrets = (text: string): string =>
  SUSPECT.test(text)
    ? hideKeys(
        text
          .replace(QUERY, `$1${HIDDEN}`)
          .replace(USERINFO, `://${HIDDEN}@`)
          .replace(CREDENTIAL, `$1${HIDDEN}`),
      )
    : text

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
