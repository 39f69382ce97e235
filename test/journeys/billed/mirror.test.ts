/** Mirrors: requests of every format that are sent a second time after guards; errors and silence
 *  of the second target; zones, accounts and shares; the customer pays for the first call only. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import t from 'tap'
import { blocksOf } from '../../docs/blocks.ts'
import { answerChat, startTextUpstream } from '../../helpers/gateway/chat-upstream.ts'
import { withOutput } from '../../helpers/gateway/command-line.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import {
  chargeOf,
  configOf,
  database,
  gateway,
  postJson,
  prepareCustomer,
  rows,
} from '../../helpers/money/billing-gateway.ts'

const answerWith = (text: string, content: string, response: ServerResponse) => {
  const usage = { prompt_tokens: 10, completion_tokens: content.length, total_tokens: 0 }
  return answerChat(text, response, { pieces: [content], usage })
}
const first = await startTextUpstream(t, (text, response) => answerWith(text, 'FIRST', response))
const copies: { readonly text: string; readonly headers: IncomingMessage['headers'] }[] = []
const second = await startTextUpstream(t, (text, response, { headers }) => {
  copies.push({ text, headers })
  if (text.includes('break')) return response.writeHead(500).end('{}')
  // To a silent one it never answers.
  if (text.includes('silence')) return
  return answerWith(text, 'THE SECOND', response)
})

const PRICE = 'price: { input: 1 / 1k, output: 1 / 1k }, output: 1000'
const GEMINI = '/v1beta/models/words'
const routes = (mirror: string, { more = '', place = '' } = {}) => `
guards:
  pii: { find: [email], on: request, do: mask, restore: true }
  block: { words: [falcon], do: block }
pipeline: [errors, auth, zone, model, meter, translate, guard, mirror]
upstreams:
  up: { url: '${first}', formats: [openai-chat], zone: [eu, us] }
  own: { url: '${second}', formats: [openai-chat]${place} }
models:
  words: { to: up/words-of-up, ${PRICE}, mirror: ${mirror} }
  others: { to: up/others-of-up, ${PRICE} }
routes:
  - { path: POST /v1/chat/completions, auth: key, model: body, translate: openai-chat, guard: [pii, block]${more} }
  - { path: POST /v1/responses, auth: key, model: body, translate: openai-responses, guard: pii }
  - { path: POST /v1/messages, auth: key, model: body, translate: anthropic-messages, guard: pii }
  - { path: 'POST /v1beta/models/{model}:generateContent', auth: key, model: { path: model }, translate: google-gemini, guard: pii }
  - { path: 'POST /v1beta/models/{model}:streamGenerateContent', auth: key, model: { path: model }, translate: google-gemini, guard: pii }
`
const ALL =
  '{ to: own/words-of-own, share: 100%, accounts: all, price: { input: 2 / 1k, output: 3 / 1k } }'
const messages = (content: string) => [{ role: 'user', content }]
/** A request in each format. */
const requestsOf = (text: string, stream: boolean): readonly (readonly [string, object])[] => [
  ['/v1/chat/completions', { model: 'words', messages: messages(text), user: 'person-7', stream }],
  ['/v1/responses', { model: 'words', input: text, stream }],
  ['/v1/messages', { model: 'words', max_tokens: 50, messages: messages(text), stream }],
  [
    stream ? `${GEMINI}:streamGenerateContent?alt=sse` : `${GEMINI}:generateContent`,
    { contents: [{ role: 'user', parts: [{ text }] }] },
  ],
]
const chat = (key: string, text: string, model = 'words') =>
  postJson(key, '/v1/chat/completions', { model, messages: messages(text) })
const copyWith = (mark: string) =>
  eventually(() => copies.find(({ text }) => text.includes(mark)) ?? false)
/** Sums of a metric over all labels that a line has beside these. */
const metric = async (name: string, ...labels: readonly string[]): Promise<number> => {
  const text = await (await gateway.askAdmin('/metrics')).text()
  return text
    .split('\n')
    .filter(
      line => line.startsWith(`tollgate_${name}{`) && labels.every(each => line.includes(each)),
    )
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}
const isCounted = (before: number, name: string, ...labels: readonly string[]) =>
  eventually(async () => (await metric(name, ...labels)) > before)

t.test('mirror: copies every format after guards, and the customer pays once', async t => {
  const { key } = await prepareCustomer(routes(ALL), 10n ** 12n)
  const before = await countCharges()
  for (const stream of [false, true])
    for (const [index, [path]] of requestsOf('', stream).entries()) {
      const mark = `mark-${index}-${stream}.`
      const [, request = {}] = requestsOf(`I am ann@example.com, ${mark}`, stream)[index] ?? []
      const name = `${path}${stream ? ', streamed' : ''}`
      const { text, id } = await postJson(key, path, request)
      t.match(text, 'FIRST', name)
      t.notMatch(text, 'SECOND', name)
      const copy = await copyWith(mark)
      const body = JSON.parse(copy.text)
      t.match(body, { model: 'words-of-own', messages: messages(`I am [EMAIL_1], ${mark}`) }, name)
      t.equal(body.stream === true, stream, `${name}: a stream is copied as a stream`)
      t.notMatch(copy.text + JSON.stringify(copy.headers), /ann@|person-7/, name)
      t.notMatch(JSON.stringify(copy.headers), key, name)
      t.match(await chargeOf(id), { state: 'settled', amount: 15_000_000 }, name)
    }
  t.ok(await isCounted(0, 'mirror_cost_total', 'side="mirror"'))
  t.equal(await countCharges(), before + 8, 'no charge of a copy')
})

const countCharges = async () =>
  Number((await rows('SELECT COUNT(*) AS count FROM charges'))[0]?.count)

t.test('mirror: compares results, tokens and cost of both calls', async t => {
  const { key } = await prepareCustomer(routes(ALL), 10n ** 12n)
  const read = () =>
    Promise.all([
      metric('mirror_tokens_total', 'side="first"', 'meter="output"'),
      metric('mirror_tokens_total', 'side="mirror"', 'meter="output"'),
      metric('mirror_cost_total', 'side="first"'),
      metric('mirror_cost_total', 'side="mirror"'),
    ])
  const calls = await metric('mirror_calls_total', 'side="mirror"', 'result="ok"')
  await eventually(async () => (await metric('mirror_calls_total', 'result="ok"')) === calls * 2)
  const before = await read()
  await chat(key, 'compare')
  t.ok(await isCounted(calls, 'mirror_calls_total', 'side="mirror"', 'result="ok"'))
  const after = await read()
  const difference = after.map((value, index) => Number((value - (before[index] ?? 0)).toFixed(6)))
  t.same(difference, [5, 10, 0.015, 0.05])
})

t.test('mirror: errors and silence of the second target change nothing for the client', async t => {
  const { key } = await prepareCustomer(
    routes(ALL.replace('100%,', '100%, timeout: 1s,')),
    10n ** 12n,
  )
  for (const [text, result] of [
    ['break', '500'],
    ['silence', 'SEND_TIMEOUT'],
  ] as const) {
    const { response, id } = await chat(key, text)
    t.equal(response.status, 200)
    t.match(await chargeOf(id), { state: 'settled' })
    t.ok(await isCounted(0, 'mirror_calls_total', 'side="mirror"', `result="${result}"`), text)
  }
})

t.test('mirror: obeys zones, blocked requests, accounts, shares and other models', async t => {
  const zoned = routes(ALL, { more: ', zone: { zone: eu }' })
  const strict = await prepareCustomer(zoned, 10n ** 12n)
  const before = await metric('mirror_lost_total', 'reason="zone"')
  t.equal((await chat(strict.key, 'zone-us')).response.status, 200)
  t.ok(await isCounted(before, 'mirror_lost_total', 'reason="zone"'))
  await prepareCustomer(routes(ALL, { more: ', zone: { zone: eu }', place: ', zone: eu' }))
  await chat(strict.key, 'zone-eu')
  await copyWith('zone-eu')

  await prepareCustomer(routes(ALL))
  t.equal((await chat(strict.key, 'the Falcon flies')).response.status, 400)
  await chat(strict.key, 'other-model', 'others')
  await postJson(strict.key, '/v1/responses', {
    model: 'words',
    input: 'hosted-tool',
    tools: [{ type: 'web_search' }],
  })
  await chat(strict.key, 'last-of-all')
  await copyWith('last-of-all')

  await prepareCustomer(routes(ALL.replace('accounts: all', 'accounts: [nobody]')))
  await chat(strict.key, 'no-consent')
  await prepareCustomer(routes(ALL.replace('100%', '0%')))
  await chat(strict.key, 'no-share')
  await prepareCustomer(routes(ALL))
  await chat(strict.key, 'the-end')
  await copyWith('the-end')
  const all = copies.map(({ text }) => text).join()
  t.notMatch(all, /zone-us|Falcon|other-model|hosted-tool|no-consent|no-share/)
})

const BUDGET = (amount: string) =>
  ALL.replace('accounts', `budget: { amount: ${amount}, per: day }, accounts`)
const usedOf = async (model: string): Promise<number> => {
  const [row] = await rows(`SELECT sum(used) AS used FROM mirror_budgets WHERE model = '${model}'`)
  return Number(row?.used ?? 0)
}
const clearBooks = () =>
  database.write(
    ['mirror_budgets', 'mirror_days'].map(table => ({
      sql: { name: `test: clear ${table}`, text: `DELETE FROM ${table}` },
      values: [],
    })),
  )

t.test('mirror: a budget of its own ends the copies, and the report has them', async t => {
  // A copy costs 10 * 2 + 10 * 3 = 50 thousandths; its first call has 5 tokens: 35 are reserved.
  const { key } = await prepareCustomer(routes(BUDGET('0.1')), 10n ** 12n)
  await clearBooks()
  const lostBefore = await metric('mirror_lost_total', 'reason="budget"')
  for (const [index, used] of [0.05, 0.1].entries()) {
    await chat(key, `budget-${index}`)
    await copyWith(`budget-${index}`)
    t.ok(await eventually(async () => (await usedOf('words')) === used * 1e9), `${used}`)
  }
  await chat(key, 'budget-beyond')
  t.ok(await isCounted(lostBefore, 'mirror_lost_total', 'reason="budget"'))
  t.notOk(copies.some(({ text }) => text.includes('budget-beyond')))
  t.equal(await usedOf('words'), 0.1e9)

  const report = async (query = '') =>
    (await gateway.askAdmin(`/-/admin/mirror/report${query}`)).json()
  t.match(await report(), [
    {
      model: 'words',
      target: 'own/words-of-own',
      calls: 2,
      first_failed: 0,
      failed: 0,
      first_output: 10,
      output: 20,
      first_cost: '0.03',
      cost: '0.1',
      compared: 2,
      agreed: 2,
      agreement: 1,
    },
  ])
  t.same(await report('?to=2026-01-01'), [])
  t.equal((await gateway.askAdmin('/-/admin/mirror/report?from=yesterday')).status, 400)
  const config = configOf(routes(BUDGET('0.1')))
  const { code, out } = await withOutput(t, ['mirror', 'report', '--json', '--config', config], {})
  t.equal(code, 0)
  t.match(JSON.parse(out), [{ calls: 2, cost: '0.1' }])
})

t.test('mirror: copies under way at a reload keep what was reserved', async t => {
  const { key } = await prepareCustomer(routes(BUDGET('10')), 10n ** 12n)
  await clearBooks()
  const lostBefore = await metric('mirror_lost_total', 'reason="closed"')
  await chat(key, 'silence at the reload')
  await copyWith('silence at the reload')
  const reserved = await usedOf('words')
  t.equal(reserved, 0.035e9)
  await prepareCustomer(routes(BUDGET('11')), 10n ** 12n)
  t.ok(await isCounted(lostBefore, 'mirror_lost_total', 'reason="closed"'))
  t.equal(await usedOf('words'), reserved, 'the provider may have done the work')
})

t.test('docs/rules.md: the example of mirrors copies a request', async t => {
  const example =
    blocksOf('docs/rules.md').find(({ text }) => /mirror:.* share: 2%/.test(text))?.text ?? ''
  const mirror = /mirror: (\{.*\})/.exec(example)?.[1] ?? ''
  t.match(mirror, 'share: 2%')
  const { key } = await prepareCustomer(
    routes(mirror.replace('2%', '100%').replace('own/qwen3', 'own/words-of-own')),
    10n ** 12n,
  )
  await chat(key, 'as-documented')
  t.ok(await copyWith('as-documented'))
})
