/** Callbacks of the video endpoints: the headers that sign them. */
import { createHmac, randomBytes } from 'node:crypto'
import { errors } from '../../../engine/errors.ts'
import type { CallbackDialect } from './dialect.ts'

const fault = errors({
  CALLBACK_URL: [400, 'invalid field: %s: %s', { as: { vidu: { type: 'FieldInvalid' } } }],
})
/** The member of a create with the URL. */
const MEMBER = 'callback_url'

/** The access key of the signature, the same for every customer. */
const ACCESS_KEY = 'vidu'

/** What clients see of the states that are announced. */
const TOPICS: Readonly<Record<string, string>> = {
  running: 'processing',
  unknown: 'processing',
  succeeded: 'success',
  failed: 'failed',
}

export const viduCallback: CallbackDialect = {
  member: MEMBER,
  topicOf: state => TOPICS[state],
  fault: problem => fault('CALLBACK_URL', [MEMBER, problem], { param: MEMBER }),
  signatureHeaders({ url, key, at }) {
    const { pathname, search } = new URL(url)
    const [date, nonce] = [new Date(at).toUTCString(), randomBytes(16).toString('hex')]
    const text = [
      'POST',
      pathname,
      search.slice(1),
      ACCESS_KEY,
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
      'X-HMAC-ACCESS-KEY': ACCESS_KEY,
    }
  },
}
