/** The headers that sign a callback with the key that created the task: HMAC-SHA256. */
import { createHmac, randomBytes } from 'node:crypto'
import type { CallbackDialect } from './dialect.ts'

/** `accessKey`: names the API in the signature, the same for every customer. */
export const hmacHeaders =
  (accessKey: string): CallbackDialect['signatureHeaders'] =>
  ({ url, key, at }) => {
    const { pathname, search } = new URL(url)
    const [date, nonce] = [new Date(at).toUTCString(), randomBytes(16).toString('hex')]
    const text = [
      'POST',
      pathname,
      search.slice(1),
      accessKey,
      date,
      `Date:${date}`,
      `x-request-nonce:${nonce}`,
      '',
    ].join('\n')
    return {
      Date: date,
      'x-request-nonce': nonce,
      'X-HMAC-SIGNED-HEADERS': 'Date;x-request-nonce',
      'X-HMAC-SIGNATURE': createHmac('sha256', key).update(text).digest('base64'),
      'X-HMAC-ALGORITHM': 'hmac-sha256',
      'X-HMAC-ACCESS-KEY': accessKey,
    }
  }
