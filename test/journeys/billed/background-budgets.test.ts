/** A budget that does not cover a response in the background: the response fails and says why, and
 *  nothing is charged or held. */
import t from 'tap'
import { audit } from '../../../plugins/ledger/audit.ts'
import { eventually } from '../../helpers/eventually.ts'
import { bearer } from '../../helpers/gateway/post.ts'
import {
  type Customer,
  database,
  gateway,
  postJson,
  prepareCustomer,
  rows,
  UNIT,
} from '../../helpers/money/billing-gateway.ts'

const ROUTES = `
pipeline: [errors, auth, model, responses, meter, translate, sandbox]
upstreams: { inside: { url: 'sandbox:' } }
models:
  chat: { to: inside/m, price: { calls: 1 } }
budgets:
  once: { of: account, amount: 1.5, per: month, zone: Europe/Berlin }
routes:
  - { path: POST /v1/responses, auth: key, model: body, responses: create, translate: openai-responses, errors: openai }
  - { path: 'GET /v1/responses/{id}', auth: key, responses: show, errors: openai }
`
let customer: Customer
t.test('setup: routes, and an account with money', async () => {
  customer = await prepareCustomer(ROUTES, 100n * UNIT)
})
interface Response {
  readonly id: string
  readonly status: string
  readonly error: unknown
}
/** The response once it has ended. */
const respond = async (model: string) => {
  const body = { model, input: 'Hi', background: true }
  const { text } = await postJson(customer.key, '/v1/responses', body)
  const { id } = JSON.parse(text) as Response
  return eventually(async () => {
    const address = `${gateway.url}/v1/responses/${id}`
    const answer = await fetch(address, { headers: bearer(customer.key) })
    const response = (await answer.json()) as Response
    return /^(completed|failed)$/.test(response.status) && response
  })
}
const windows = () =>
  rows(`SELECT w.used, w.reserved FROM budget_windows b JOIN wallets w ON w.id = b.wallet
    WHERE b.kind = 'account' AND b.owner = ${customer.account}`)

t.test('background response: fails by a budget that does not cover it', async t => {
  t.match(await respond('chat'), { status: 'completed', error: null })
  const refused = await respond('chat')
  t.match(refused, {
    status: 'failed',
    error: { message: /budget "once" of this account .* 1 of 1\.5 CNY is used/ },
  })
  const states = await eventually(async () => {
    const all = await rows(`SELECT state, amount FROM charges WHERE account = ${customer.account}`)
    return all.every(({ state }) => state !== 'open') && all
  })
  t.same(
    states.filter(({ state }) => state === 'settled').map(({ amount }) => amount),
    [Number(UNIT)],
  )
  await eventually(async () => Number((await windows())[0]?.reserved) === 0)
  t.match(await windows(), [{ used: Number(UNIT), reserved: 0 }])
  t.same(await audit(database), [])
})
