/** Accepts signed tokens (JWT, HS256) of an identity provider; its claim `sub` names the
 *  account. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { errors, type Plugin } from 'tollgate/plugin'
import { ACCOUNT, ensureAccount } from 'tollgate/slots'

const fault = errors({ JWT_INVALID: [401, 'The token is not valid: %s.'] })
const TOKEN = /^Bearer ([\w-]+\.[\w-]+)\.([\w-]+)$/

export default {
  schema: {
    description: 'The secret of the identity provider.',
    type: 'string',
    format: 'password',
  },
  before: ['auth'],
  needs: ['auth'],
  setup: (secret, host) => ({
    async handle({ request, slots }, next) {
      const [, signed, signature = ''] = TOKEN.exec(request.headers.authorization ?? '') ?? []
      if (signed === undefined) return next()
      const expected = createHmac('sha256', secret).update(signed).digest()
      const received = Buffer.from(signature, 'base64url')
      if (received.length !== expected.length || !timingSafeEqual(received, expected))
        throw fault('JWT_INVALID', ['its signature is wrong'])
      const payload = Buffer.from(signed.split('.')[1] ?? '', 'base64url').toString()
      const { sub, exp } = JSON.parse(payload) as { sub?: string; exp?: number }
      if (!sub || !exp || exp * 1_000 < Date.now()) throw fault('JWT_INVALID', ['it has expired'])
      slots.set(ACCOUNT, await ensureAccount(host.database, `jwt-${sub}`))
      return next()
    },
  }),
} satisfies Plugin<string>
