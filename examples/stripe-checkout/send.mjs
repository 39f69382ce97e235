/** Sends a signed event as Stripe does. Usage: node send.mjs URL ACCOUNT CENTS ID [PLAN]. With a
 *  plan it is the invoice of a subscription for 30 days, otherwise a checkout. */
import { createHmac } from 'node:crypto'

const [url, account, cents, id, plan] = process.argv.slice(2)
const secret = process.env.STRIPE_WEBHOOK_SECRET ?? 'whsec_example'
const time = Math.floor(Date.now() / 1000)
const checkout = {
  client_reference_id: account,
  amount_total: Number(cents),
  payment_status: 'paid',
}
const invoice = {
  amount_paid: Number(cents),
  parent: { subscription_details: { metadata: { account, plan } } },
  lines: { data: [{ period: { start: time, end: time + 30 * 86_400 } }] },
}
const body = JSON.stringify({
  type: plan ? 'invoice.paid' : 'checkout.session.completed',
  data: { object: { id, currency: 'usd', ...(plan ? invoice : checkout) } },
})
const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')
const response = await fetch(url, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'stripe-signature': `t=${time},v1=${signature}` },
  body,
})
console.log(response.status, await response.text())
