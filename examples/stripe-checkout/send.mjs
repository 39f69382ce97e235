/** Sends a signed event as Stripe does. Usage: node send.mjs URL ACCOUNT CENTS CHECKOUT */
import { createHmac } from 'node:crypto'

const [url, account, cents, id] = process.argv.slice(2)
const secret = process.env.STRIPE_WEBHOOK_SECRET ?? 'whsec_example'
const body = JSON.stringify({
  type: 'checkout.session.completed',
  data: {
    object: {
      id,
      client_reference_id: account,
      amount_total: Number(cents),
      currency: 'usd',
      payment_status: 'paid',
    },
  },
})
const time = Math.floor(Date.now() / 1000)
const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')
const response = await fetch(url, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'stripe-signature': `t=${time},v1=${signature}` },
  body,
})
console.log(response.status, await response.text())
