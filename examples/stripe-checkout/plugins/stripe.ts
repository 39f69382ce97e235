/** Turns payments of Stripe into credit and plans, once: verifies the signature of the webhook,
 *  credits the account that a paid checkout names as `client_reference_id`, and gives the plan of a
 *  paid invoice of a subscription, whose metadata name `account` and `plan`. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { errors, type Plugin } from 'tollgate/plugin'
import { creditOnce } from 'tollgate/slots'

const fault = errors({
  STRIPE_SIGNATURE: [401, 'The signature is not valid.'],
  STRIPE_EVENT: [400, 'The payment names no account, or has no amount in %s.'],
})
/** ms by which the time of a signature may differ. */
const TOLERANCE = 300_000

/** The header is `t=SECONDS,v1=HEX`, once or more: the HMAC of `SECONDS.BODY`. */
const isSigned = (header: string, body: Uint8Array, secret: string): boolean => {
  const parts = header.split(',').map(part => part.split('='))
  const time = parts.find(([name]) => name === 't')?.[1] ?? ''
  if (Math.abs(Date.now() - Number(time) * 1_000) > TOLERANCE) return false
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest()
  return parts.some(([name, value = '']) => {
    const own = Buffer.from(value, 'hex')
    return name === 'v1' && own.length === expected.length && timingSafeEqual(own, expected)
  })
}

/** Undefined: the event needs nothing. Its id is the reference: Stripe repeats events. */
// biome-ignore lint/suspicious/noExplicitAny: an event of Stripe
const paymentIn = (type: string, object: any) => {
  if (type === 'checkout.session.completed' && object.payment_status === 'paid') {
    // That of a subscription comes as an invoice.
    if (object.mode === 'subscription') return undefined
    const { id: reference, client_reference_id: account, amount_total: cents } = object
    return { reference, account, cents }
  }
  if (type !== 'invoice.paid') return undefined
  const { id: reference, amount_paid: cents, lines } = object
  const details = object.parent?.subscription_details ?? object.subscription_details
  const { account, plan } = details?.metadata ?? {}
  // Nothing was paid in a trial period: there is nothing to credit.
  if (!plan || cents === 0) return undefined
  const expires = new Date(lines.data[0].period.end * 1_000).toISOString()
  return { reference, account, cents, plan, expires }
}

export default {
  schema: {
    description: 'The signing secret of the webhook, and the currency of its payments.',
    type: 'object',
    required: ['secret', 'currency'],
    additionalProperties: false,
    properties: {
      secret: { description: 'The signing secret.', type: 'string', format: 'password' },
      currency: { description: 'The only currency that is credited.', type: 'string' },
    },
    examples: [{ secret: '${STRIPE_WEBHOOK_SECRET}', currency: 'usd' }],
  },
  needs: ['account'],
  setup: ({ secret, currency }, host) => ({
    answers: true,
    async handle(exchange) {
      const { request } = exchange
      const body = await request.bytes()
      if (!isSigned(request.headers['stripe-signature'] ?? '', body, secret))
        throw fault('STRIPE_SIGNATURE')
      const { type, data } = JSON.parse(Buffer.from(body).toString())
      const payment = paymentIn(type, data?.object ?? {})
      if (payment) {
        const { cents, ...others } = payment
        if (!payment.account || !Number.isInteger(cents) || data.object.currency !== currency)
          throw fault('STRIPE_EVENT', [currency])
        const amount = `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`
        await creditOnce(host, { ...others, amount, note: 'Stripe' })
      }
      exchange.answer(200, { received: true })
    },
  }),
} satisfies Plugin<{ readonly secret: string; readonly currency: string }>
