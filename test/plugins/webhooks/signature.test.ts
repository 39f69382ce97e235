/** Signatures, verified by the public package of Standard Webhooks and as older receivers do. */
import { createHmac, randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import {
  isSecret,
  makeSecret,
  maskSecret,
  signatureHeaders,
} from '../../../plugins/webhooks/signature.ts'
import fc from '../../helpers/property.ts'

const now = () => Date.now()
const headersOf = (...args: Parameters<typeof signatureHeaders>) =>
  signatureHeaders(...args) as Record<string, string>

t.test('signature: verifies for any body and secret', async t => {
  const bytes = fc.uint8Array({ minLength: 24, maxLength: 64 })
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.string(), bytes, (text, key) => {
        const secret = `whsec_${Buffer.from(key).toString('base64')}`
        const body = JSON.stringify({ text })
        const headers = headersOf({ id: 'msg_1', body, secret, at: now() })
        new Webhook(secret).verify(body, headers)
        const plain = createHmac('sha256', secret).update(body).digest('hex')
        return isSecret(secret) && headers['x-webhook-signature'] === plain
      }),
    ),
  )
})

t.test('signature: refuses changed bodies, ids and secrets', async t => {
  const secret = makeSecret()
  const body = '{"topic":"user_quota_too_low","data":{"quota":1}}'
  const headers = headersOf({ id: 'msg_1', body, secret, at: now() })
  const check =
    (body: string, more = {}, key = secret) =>
    () =>
      new Webhook(key).verify(body, { ...headers, ...more })
  t.doesNotThrow(check(body))
  t.throws(check(body.replace('1', '2')))
  t.throws(check(body, { 'webhook-id': 'msg_2' }))
  t.throws(check(body, { 'webhook-timestamp': String(Math.floor(now() / 1_000) + 1) }))
  t.throws(check(body, {}, makeSecret()))
  const old = headersOf({ id: 'msg_1', body, secret, at: now() - 3_600_000 })
  t.throws(check(body, old), 'a replay after an hour')
})

t.test('signature: accepts valid secrets only', async t => {
  const secret = makeSecret()
  t.ok(isSecret(secret))
  t.not(makeSecret(), secret)
  t.match(maskSecret(secret), /^whsec_….{4}$/)
  const randomBase64 = (length: number) => randomBytes(length).toString('base64')
  for (const wrong of [
    '',
    'whsec_',
    randomBase64(32),
    `whsec_${randomBase64(23)}`,
    `whsec_${randomBase64(65)}`,
    `whsec_${randomBase64(32)}\n`,
    `whsec_ ${randomBase64(32)}`,
    `WHSEC_${randomBase64(32)}`,
    `whsec_${randomBytes(32).toString('hex')}z`,
    `whsec_${'-_'.repeat(16)}`,
  ])
    t.notOk(isSecret(wrong), wrong)
})
