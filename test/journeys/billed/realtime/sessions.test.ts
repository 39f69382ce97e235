/** Realtime connections that the console opens with a session: they are charged to the member who
 *  signed in, and count in the budgets of that member. */
import t from 'tap'
import { addMember } from '../../../../plugins/credentials/members.ts'
import { makeSecret } from '../../../../plugins/credentials/secret.ts'
import { cookieName, csrfTokenOf } from '../../../../plugins/credentials/session-cookie.ts'
import { addSession } from '../../../../plugins/credentials/statements.ts'
import { audit } from '../../../../plugins/ledger/audit.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { openSocket, type RefusedUpgrade } from '../../../helpers/gateway/web-socket.ts'
import {
  type Customer,
  database,
  gateway,
  idOf,
  prepareCustomer,
  rows,
  UNIT,
  upstream,
} from '../../../helpers/money/billing-gateway.ts'

const ROUTES = `
pipeline: [errors, auth, model, meter, realtime]
upstreams: { gp: { url: '${upstream.url}/s/gp/v1' } }
models:
  talk: { to: gp/there, context: 100, output: 50, price: { input: 0.01, output: 0.02 } }
budgets:
  seat: { of: member, amount: 8, per: life }
  words: { of: member, tokens: 1_000, per: month }
routes:
  - { path: 'WS /v1/realtime', name: realtime, auth: [key, session], model: { query: model }, realtime: true, errors: openai }
`
const ANSWER = {
  type: 'response.done',
  response: { id: 'r', usage: { total_tokens: 60, input_tokens: 40, output_tokens: 20 } },
}
/** 40 at 0.01 and 20 at 0.02: nanos. */
const COST = 800_000_000

let customer: Customer
const members: Record<'ann' | 'ben', number> = { ann: 0, ben: 0 }
t.test('setup: routes, and a team of two', async () => {
  customer = await prepareCustomer(ROUTES, 100n * UNIT)
  await upstream.script('gp', [{ do: 'websocket', manner: 'echo' }])
  for (const name of ['ann', 'ben'] as const)
    members[name] = await idOf(addMember(customer.account, { name, role: 'member' }, Date.now()))
})

/** The headers of a browser in which the member has signed in; undefined: the account itself. */
const signIn = async (member?: number) => {
  const secret = makeSecret('session')
  const { account } = customer
  const session = { account, name: 'browser', secret, ...(member !== undefined && { member }) }
  await database.write(addSession(session, undefined, Date.now()))
  const cookie = `${cookieName(false)}=${secret.text}`
  return { cookie, 'x-csrf-token': csrfTokenOf(secret.text) }
}
const dial = (headers: Readonly<Record<string, string>>) =>
  openSocket(`${gateway.url}/v1/realtime?model=talk`, [], { headers })
const talk = async (headers: Readonly<Record<string, string>>, answers: number) => {
  const client = await dial(headers)
  for (let count = 1; count <= answers; count++) {
    client.socket.send(JSON.stringify(ANSWER))
    await client.until(count)
  }
  return client
}
const closedCharges = () =>
  eventually(async () => {
    const all = await rows(
      `SELECT state, member, key, amount, tokens FROM charges WHERE account = ${customer.account} ORDER BY opened`,
    )
    return all.some(({ state }) => state === 'open') ? undefined : all
  })
/** The amounts that each budget of each member has used. */
const usedBy = async () => {
  const windows = await rows(
    `SELECT b.owner, b.budget, w.used FROM budget_windows b JOIN wallets w ON w.id = b.wallet
     WHERE b.kind = 'member' ORDER BY b.owner, b.budget`,
  )
  return windows.map(({ owner, budget, used }) => [Number(owner), budget, Number(used)])
}

t.test('session: its connection is charged to its member, and counts in the budgets', async t => {
  const ann = await signIn(members.ann)
  const without = await dial({ cookie: ann.cookie }).catch((error: RefusedUpgrade) => error)
  t.match(without, { status: 403 }, 'a page of another site has no token')
  for (const headers of [ann, await signIn(members.ben), await signIn()]) {
    const client = await talk(headers, headers === ann ? 2 : 1)
    client.socket.close()
    await client.closed
    await closedCharges()
  }
  t.match(await closedCharges(), [
    { state: 'settled', member: members.ann, key: null, amount: 2 * COST, tokens: 120 },
    { state: 'settled', member: members.ben, key: null, amount: COST, tokens: 60 },
    { state: 'settled', member: 0, key: null, amount: COST, tokens: null },
  ])
  t.same(await usedBy(), [
    [members.ann, 'seat', 2 * COST],
    [members.ann, 'words', 120],
    [members.ben, 'seat', COST],
    [members.ben, 'words', 60],
  ])
  t.same(await audit(database), [])
})

t.test('session: ends when the budget of its member has no more', async t => {
  const ann = await signIn(members.ann)
  // It holds 3.56 at first, and as much on top of each answer: of 8, 6.4 are left.
  const client = await talk(ann, 4)
  t.match(await client.closed, { code: 1008, reason: /budget "seat" of this member/ })
  await closedCharges()
  const next = await dial(await signIn(members.ben))
  next.socket.close()
  await next.closed
  const [, , , charge] = await closedCharges()
  t.match(charge, { member: members.ann, amount: 4 * COST })
  t.match((await usedBy()).slice(0, 2), [
    [members.ann, 'seat', 6 * COST],
    [members.ann, 'words', 360],
  ])
  const refused = await dial(ann).catch((error: RefusedUpgrade) => error)
  t.match(refused, { status: 429, body: /budget .*seat.* of this member/ })
  t.same(await audit(database), [])
})
