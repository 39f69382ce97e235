/** Tokens of a real provider at a real gateway: charges of the member, refusals in each dialect. */
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { AUDIENCE, forge, makeKeys, openProvider } from '../../plugins/identity/provider.ts'

const KEYS = makeKeys('first')
const routesOf = (issuer: string): string => `
pipeline: [errors, identity, auth, validate, model, limit, meter, account, translate, realtime, sandbox]
identity:
  issuer: ${issuer}
  audience: ${AUDIENCE}
  account: { claim: org, map: { rich: admin, poor: poor } }
  member: email
  operators: true
upstreams: { inside: { url: 'sandbox:' } }
models: { chat: { to: inside/m, price: { input: 0.01, output: 0.02 }, output: 50, context: 1000 } }
routes:
  - { path: POST /v1/chat/completions, auth: [key, jwt], model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/messages, auth: [key, jwt], model: body, translate: anthropic-messages, errors: anthropic }
  - { path: 'POST /v1beta/models/{model}:generateContent', auth: jwt, model: { path: model }, translate: google-gemini, errors: google }
  - { path: GET /api/usage, auth: [key, jwt], account: usage }
`
const MESSAGES = [{ role: 'user', content: 'Hi' }]
const CHAT = { model: 'chat', max_tokens: 10, messages: MESSAGES }
const GEMINI = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }
const CALLS = [
  ['/v1/chat/completions', CHAT],
  ['/v1/chat/completions', { ...CHAT, stream: true }],
  ['/v1/messages', CHAT],
  ['/v1/messages', { ...CHAT, stream: true }],
  ['/v1beta/models/chat:generateContent', GEMINI],
] as const

t.test('identity: tokens pay from the account of the member', async t => {
  const provider = await openProvider(t)
  // The provider is away while the gateway starts.
  const gateway = await startGateway({ routes: routesOf(provider.issuer) })
  t.teardown(() => gateway.stop())
  const call = async (path: string, bearer: string, body?: object) => {
    const response = await fetch(gateway.url + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  const key = await gateway.key()
  t.match(await call('/v1/chat/completions', key, CHAT), { status: 200 }, 'keys need no provider')
  const claims = {
    iss: provider.issuer,
    aud: AUDIENCE,
    exp: Math.floor(Date.now() / 1_000) + 600,
  }
  const ann = { sub: 'ann', email: 'ann@x.test', org: 'rich' }
  const tokenOf = (more: object) => forge({ ...claims, ...more }, KEYS.rsa, { kid: 'first-rsa' })
  t.match(await call('/v1/chat/completions', tokenOf(ann), CHAT), {
    status: 503,
    text: /The keys of the identity provider are not known yet/,
  })

  await provider.start(KEYS)
  let status = 503
  while (status === 503) status = (await call('/v1/chat/completions', tokenOf(ann), CHAT)).status
  t.equal(status, 200)
  for (const [path, body] of CALLS) {
    const issued = await provider.token({ claims: { email: 'bob@x.test', org: 'rich' } })
    t.match(await call(path, issued, body), { status: 200 }, path)
  }
  const bob = await provider.token({ claims: { email: 'bob@x.test', org: 'rich' } })
  const used = JSON.parse((await call('/api/usage', bob)).text).data
  t.equal(used.length, CALLS.length, 'a member sees his own calls')
  for (const { cost } of used) t.ok(Number(cost) > 0)
  const [{ member: ofBob }] = used
  t.ok(ofBob > 0 && used.every(({ member }: { member: number }) => member === ofBob), 'each is his')
  const all = JSON.parse((await call('/api/usage', key)).text).data
  t.equal(all.length, CALLS.length + 2, 'and the account sees all')

  const refusals = [
    [401, { ...ann, aud: 'https://other.test' }, /another audience/],
    [403, { ...ann, org: 'unknown' }, /has no known value/],
    // The status is that of the dialect.
    [undefined, { ...ann, org: 'poor', sub: 'eve' }, /Insufficient balance/],
  ] as const
  for (const [status, more, message] of refusals) {
    const texts: string[] = []
    for (const [path, body] of CALLS) {
      const refused = await call(path, tokenOf(more), body)
      t.equal(refused.status, status ?? refused.status)
      t.match(refused.text, message)
      texts.push(refused.text)
      if (status === 401) t.match(refused.headers.get('www-authenticate'), /invalid_token/)
    }
    t.match(texts[0], /^\{"error":\{"message":/)
    t.match(texts[2], /^\{"type":"error","error":\{"type":/)
    t.match(texts[4], /"status":"[A-Z_]+"/)
  }
})
