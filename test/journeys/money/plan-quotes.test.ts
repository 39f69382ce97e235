/** `tollgate quote` names the plan that pays a call, in money or tokens, and `tollgate explain` the
 *  plan that would refuse it; answers that a plan pays whole have the balance. */
import { join } from 'node:path'
import t from 'tap'
import { withOutput } from '../../helpers/gateway/command-line.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { bearer, postTo } from '../../helpers/gateway/post.ts'
import { eventually } from '../../helpers/gateway/primary.ts'

const ROUTES = `
pipeline: [errors, auth, model, meter, translate, embed, sandbox]
plans:
  coins: { amount: 1.5, per: day, zone: Asia/Shanghai }
  words: { tokens: 9_000, per: month }
  part: { tokens: 1_000, per: life }
  limits: { tokens: 1_000, per: life, after: refuse }
  refuses: { tokens: 200, per: life, after: refuse }
  other: { tokens: 9_000, per: life, models: [pictures] }
upstreams: { inside: { url: 'sandbox:' } }
models:
  long: { to: inside/m, price: { output: 0.0001 }, output: 4000, context: 10000 }
  pictures: { to: inside/p, price: { images: 0.01 } }
  vectors: { to: inside/v, price: { input: 0.0001 }, context: 1000 }
  flat: { to: inside/f, price: { calls: 0.01 }, output: 100, context: 1000 }
routes:
  - { path: POST /v1/messages, auth: key, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: POST /v1/responses, auth: key, model: body, translate: openai-responses, errors: openai }
  - { path: 'POST /v1beta/models/{model}:generateContent', auth: key, model: { path: model }, translate: google-gemini, errors: google }
  - { path: POST /v1/embeddings, auth: key, model: body, embed: openai, errors: openai }
  - { path: POST /v1/chat/completions, auth: key, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/images/generations, auth: key, model: body, translate: openai-images, errors: openai }
`
t.test('plan of a quoted and of an explained call', async t => {
  const gateway = await startGateway({ routes: ROUTES })
  t.teardown(() => gateway.stop())
  const key = await gateway.key()
  const folder = t.testdir({
    'long.json': JSON.stringify({ model: 'long', messages: [] }),
    'picture.json': JSON.stringify({ model: 'pictures', prompt: 'a house' }),
    'flat.json': JSON.stringify({ model: 'flat', messages: [] }),
  })
  const command = (...argv: string[]) =>
    withOutput(t, [...argv, '--config', join(gateway.data, '../routes.yaml')], {
      TOLLGATE_DATA: gateway.data,
    })
  const request = ['POST', '/v1/chat/completions', '--body', join(folder, 'long.json')] as const
  const picture = ['POST', '/v1/images/generations', '--body', join(folder, 'picture.json')]
  const [{ account }] = JSON.parse((await command('keys', 'list', '--json')).out)
  const caller = ['--account', String(account)]
  const quoteWith = async (plan: string, ...words: string[]) => {
    await command('plans', 'assign', String(account), plan)
    return command('quote', ...(words.length > 0 ? words : request), ...caller)
  }

  t.notMatch((await command('quote', ...request, ...caller)).out, /plan/)
  for (const [plan, line] of [
    ['coins', /\nplan coins pays the call: 0 of 1\.5 \w+ used until 20\S+\+08:00$/],
    ['words', /\nplan words pays the call: 0 of 9000 tokens used until 20\S+$/],
    ['part', /\nplan part covers a part of the call, and the balance the rest: 0 of 1000 tokens /],
    [
      'limits',
      /\nplan limits covers a part, to which it limits the output: 0 of 1000 tokens used$/,
    ],
    ['refuses', /\nplan refuses refuses the call: 0 of 200 tokens used$/],
  ] as const)
    t.match((await quoteWith(plan)).out, line)
  const { out: explained } = await command('explain', ...request, '--key', key)
  t.match(
    explained,
    /meter +refuses +429 PLAN_EXHAUSTED: The plan "refuses" .* may use up to 40\d\d tokens: 0 of 200/,
  )
  const flat = ['POST', '/v1/chat/completions', '--body', join(folder, 'flat.json')]
  t.notMatch((await quoteWith('words', ...flat)).out, /plan/, 'a price for each call has no tokens')
  t.notMatch((await quoteWith('other')).out, /plan/, 'it is not for this model')
  t.notMatch((await quoteWith('other', ...picture)).out, /plan/, 'pictures have no tokens')
  const json = await command('quote', ...request, ...caller, '--json')
  t.equal(JSON.parse(json.out).plan, null)
  await quoteWith('words')
  t.match(JSON.parse((await command('quote', ...request, ...caller, '--json')).out).plan, {
    name: 'words',
    used: '0',
    amount: '9000',
    unit: 'tokens',
    effect: 'pays',
  })
})

const messages = [{ role: 'user', content: 'Hello' }]
const CALLS = [
  ['/v1/chat/completions', { model: 'long', max_tokens: 20, messages }],
  ['/v1/messages', { model: 'long', max_tokens: 20, messages }],
  ['/v1/responses', { model: 'long', max_output_tokens: 20, input: 'Hello' }],
  [
    '/v1beta/models/long:generateContent',
    { contents: [{ parts: [{ text: 'Hello' }] }], generationConfig: { maxOutputTokens: 20 } },
  ],
  ['/v1/embeddings', { model: 'vectors', input: 'Hello' }],
] as const

t.test('answers that a plan pays whole: have the balance, in every format', async t => {
  const plans = 'plans: { coins: { amount: 50, per: life }, words: { tokens: 90_000, per: life } }'
  const gateway = await startGateway({
    routes: ROUTES.replace(/plans:\n(?: {2}.*\n)+/, `${plans}\n`),
  })
  t.teardown(() => gateway.stop())
  const key = await gateway.key()
  const call = async (path: string, body: object) => {
    const response = await postTo(gateway.url + path, body, bearer(key))
    await response.text()
    const header = (name: string) => response.headers.get(`x-tollgate-${name}`)
    return { status: response.status, charge: header('charge'), balance: header('balance') }
  }
  for (const plan of ['coins', 'words']) {
    await withOutput(
      t,
      ['plans', 'assign', 'admin', plan, '--config', join(gateway.data, '../routes.yaml')],
      { TOLLGATE_DATA: gateway.data },
    )
    // Every process knows the plan within a second: until then the balance pays.
    let before: string | null = null
    const expected = await eventually(async () => {
      const { balance } = await call(...CALLS[0])
      const isSettled = balance === before
      before = balance
      return isSettled ? balance : undefined
    })
    for (const [path, body] of CALLS) {
      const { status, charge, balance } = await call(path, body)
      t.equal(status, 200, path)
      t.ok(Number(charge) > 0)
      t.equal(balance, expected, `${plan}, ${path}`)
    }
    const [[path, body]] = CALLS
    const streamed = await call(path, { ...body, stream: true })
    t.match(streamed, { status: 200, charge: null, balance: null }, 'a stream has neither')
    const refused = await call(path, { ...body, model: 'none' })
    t.match(refused, { status: 404, charge: null, balance: null })
  }
  const { balance: last } = await call(...CALLS[0])
  const flat = await call('/v1/chat/completions', { model: 'flat', messages })
  t.equal(flat.charge, '0.01')
  t.equal((Number(last) - Number(flat.balance)).toFixed(6), '0.010000')
})
