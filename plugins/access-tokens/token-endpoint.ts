/** One request to a token endpoint of OAuth 2.0 (RFC 6749 §5). */
import type { OperatorRequest, SendToOperator } from '../../engine/plugin.ts'
import type { IssuedToken } from './access-token.ts'

/** ms until the whole response has arrived. */
const TIMEOUT = 10_000
/** s, of a token whose response does not say it. */
const LIFETIME = 300
/** Most characters of a text of the endpoint in the log. */
const LONGEST = 300

/** Rejects with an error for the operator, without the texts in `secrets`. */
export const requestToken = async (
  request: SendToOperator,
  url: string,
  outgoing: Omit<OperatorRequest, 'timeout'>,
  secrets: readonly string[] = [],
): Promise<IssuedToken> => {
  const { status, text } = await request(url, { ...outgoing, timeout: TIMEOUT })
  const { access_token: value, expires_in: seconds, ...rest } = fieldsOf(text)
  if (status === 200 && typeof value === 'string' && value !== '')
    return { value, lifetime: Number(seconds ?? LIFETIME) || LIFETIME }
  const details = [rest.error, rest.error_description].filter(each => typeof each === 'string')
  const reason = details.length > 0 ? details.join(': ') : 'it contains no access_token'
  const message = secrets.reduce((masked, secret) => masked.replaceAll(secret, '***'), reason)
  throw new Error(`${url} answered ${status}: ${message.slice(0, LONGEST)}`)
}

/** A form: `a=b&c=d`. */
export const formRequest = (fields: Readonly<Record<string, string>>) => ({
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
  body: new URLSearchParams(fields).toString(),
})

const fieldsOf = (text: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
