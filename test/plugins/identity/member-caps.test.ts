/** Caps and roles of members hold for tokens of an identity provider: a token is a member's key. */
import t from 'tap'
import { startConsole } from '../../helpers/console/console-gateway.ts'
import { eventually } from '../../helpers/eventually.ts'
import { bearer, postTo } from '../../helpers/gateway/post.ts'
import { AUDIENCE, forge, makeKeys } from './provider.ts'

const KEYS = makeKeys('first')
const ROUTES = `
include: [tollgate:console.yaml]
pipeline: [errors, observe, identity, auth, validate, model, limit, idempotency, meter, account, console, openapi, translate, notify, sandbox]
identity:
  issuer: https://id.test
  jwks: keys.json
  audience: ${AUDIENCE}
  account: { map: { robot: admin }, claim: org }
  member: email
  role: { claim: groups }
  operators: true
upstreams: { inside: { url: 'sandbox:' } }
models: { chat: { to: inside/m, price: { input: 0.01, output: 0.02 }, output: 50, context: 1000 } }
routes:
  - { path: POST /v1/chat/completions, auth: [key, jwt], model: body, translate: openai-chat, errors: openai }
  - { path: GET /mine, auth: [key, jwt], account: usage, errors: envelope }
  - { path: POST /members, auth: [system-token, jwt], account: invite-member, errors: envelope }
`
const { jwks } = KEYS
t.test('member caps: one cap counts the calls by tokens and by API keys of a member', async t => {
  const gateway = await startConsole(t, {
    routes: ROUTES,
    files: { 'keys.json': JSON.stringify(jwks) },
  })
  const claims = { iss: 'https://id.test', aud: AUDIENCE, org: 'robot' }
  const tokenOf = (name: string, groups = 'member') => {
    const exp = Math.floor(Date.now() / 1_000) + 600
    const all = { ...claims, exp, sub: name, email: `${name}@x.test`, groups }
    return forge(all, KEYS.rsa, { kid: 'first-rsa' })
  }
  const body = {
    model: 'chat',
    max_tokens: 10,
    messages: [{ role: 'user', content: 'Hi' }],
  }
  const call = async (credential: string, more: object = {}) => {
    const response = await postTo(
      `${gateway.url}/v1/chat/completions`,
      { ...body, ...more },
      bearer(credential),
    )
    await response.text()
    return { status: response.status, budget: response.headers.get('x-tollgate-budget') }
  }
  const admin = (path: string, content: object) =>
    gateway.ask('POST', `/api/admin/${path}`, content, {
      authorization: `Bearer ${gateway.token}`,
    })
  t.equal((await call(tokenOf('ann'))).status, 200)
  t.equal((await call(tokenOf('bob'))).status, 200)
  const { body: used } = await gateway.ask('GET', '/mine', undefined, {
    authorization: `Bearer ${tokenOf('ann')}`,
  })
  const cost = Number(used.data[0]?.cost)
  t.ok(cost > 0)
  const key = await admin('keys', { account: 'admin', member: 'ann@x.test', name: 'program' })
  const cap = { name: 'seat', amount: `${(cost * 4).toFixed(6)}`, per: 'day' }
  const set = await admin('budgets/set', { account: 'admin', member: 'ann@x.test', ...cap })
  t.equal(set.status, 200, JSON.stringify(set.body))
  // Each process reads budgets twice a second.
  const refused = await eventually(async () => {
    const reply = await call(tokenOf('ann'))
    return reply.status === 429 ? reply : undefined
  })
  t.match(refused.budget, /^seat; used=/)
  for (const more of [{}, { stream: true }]) {
    t.equal((await call(tokenOf('ann'), more)).status, 429, 'another token of the member')
    t.equal((await call(String(key.body.data.key), more)).status, 429, 'a key of the member')
    t.equal((await call(tokenOf('bob'), more)).status, 200, 'other members go on')
  }
  const asAdmin = tokenOf('ann', 'admin')
  t.equal((await call(asAdmin)).status, 429, 'another role raises no cap')
  const invite = async (groups: string) => {
    const headers = { authorization: `Bearer ${tokenOf('ann', groups)}` }
    const member = { name: `new ${groups}`, role: 'member' }
    return (await gateway.ask('POST', '/members', member, headers)).status
  }
  t.same(
    await Promise.all(['owner', 'admin', 'member', 'viewer'].map(invite)),
    [201, 201, 403, 403],
    'the role of the token decides',
  )
  t.equal((await call(tokenOf('bob', 'viewer'))).status, 403, 'a viewer calls nothing')
})
