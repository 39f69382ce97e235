/** Answers to similar texts: one entry for all formats, plain and streamed; its charge; what is not
 *  similar enough; thresholds of clients; embeddings that fail; zones; purges. */
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { blocksOf } from '../../../docs/blocks.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { textIn } from '../../../helpers/formats/listening-gateway.ts'
import {
  answerChat,
  CHAT_FACTS,
  startTextUpstream,
} from '../../../helpers/gateway/chat-upstream.ts'
import {
  type Customer,
  chargeOf,
  gateway,
  postJson,
  prepareCustomer,
  rows,
  UNIT,
} from '../../../helpers/money/billing-gateway.ts'
import { CHAT_ROUTES, chat, MESSAGES, requestsOf, resultOf } from './cached-requests.ts'

const CHAT = '/v1/chat/completions'
/** The second word of a text says how similar it is to that of the same first word with `base`. */
const SIMILARITY: Readonly<Record<string, number>> = {
  base: 1,
  near: 0.9925,
  close: 0.9705,
  far: 0.9,
}
const topics: string[] = []
const vectorOf = (text: string): readonly number[] => {
  const [topic = '', word = ''] = text.split(' ')
  if (!topics.includes(topic)) topics.push(topic)
  const cosine = SIMILARITY[word] ?? 1
  const vector = Array.from({ length: 100 }, () => 0)
  const at = topics.indexOf(topic) * 2
  // Of any length: the gateway divides by it.
  vector[at] = cosine * 3
  vector[at + 1] = Math.sqrt(1 - cosine ** 2) * 3
  return vector
}
/** How the model of embeddings answers. */
let mode: 'vector' | 'error' | 'silence' | 'zeros' | 'nonsense' = 'vector'
/** Texts that it got. */
const embedded: string[] = []
/** Vectors that wait for the test, while it holds them. */
let waiting: (() => void)[] | undefined
/** Answers to chat are sent once this resolves. */
let answersHeld: Promise<void> | undefined
let count = 0

const answerVector = (text: string, response: ServerResponse) => {
  embedded.push(text)
  if (mode === 'silence') return
  const embedding = mode === 'zeros' ? [0, 0] : vectorOf(text)
  const usage = { prompt_tokens: 3, total_tokens: 3 }
  const body = mode === 'nonsense' ? {} : { data: [{ index: 0, embedding }], usage }
  response.writeHead(mode === 'error' ? 500 : 200, { 'content-type': 'application/json' })
  const end = () => void response.end(JSON.stringify(body))
  if (waiting) waiting.push(end)
  else end()
}
const URL = await startTextUpstream(t, async (text, response, { url }) => {
  if (url?.endsWith('/embeddings'))
    return answerVector([JSON.parse(text).input].flat()[0], response)
  await answersHeld
  const facts = { ...CHAT_FACTS, id: `resp-${++count}` }
  return answerChat(text, response, {
    facts,
    message: { role: 'assistant', content: `Answer ${count}.` },
  })
})

const PRICE = 'price: { input: 1 / 1k, output: 1 / 1k, cached_call: 2 / 1k }, output: 1000'
const routes = (cache = '{ semantic: { model: vectors, threshold: 0.95, timeout: 9s } }') => `
cache: ${cache}
pipeline: [errors, auth, zone, model, meter, console, translate, guard, cache, embed]
upstreams:
  up: { url: '${URL}', formats: [openai-chat], zone: eu }
  em: { url: '${URL}', formats: [openai-embeddings] }
models:
  words: { to: up/words-of-up, cache: semantic, ${PRICE} }
  twin: { to: up/words-of-up, cache: semantic, ${PRICE} }
  exact: { to: up/words-of-up, cache: exact, ${PRICE} }
  vectors: { to: em/vectors-of-em, free: true }
routes:
${CHAT_ROUTES}
  - { path: POST /eu, auth: key, zone: { zone: eu }, model: body, translate: openai-chat, rewrite: /v1/chat/completions }
`
const start = (text = routes()) => {
  mode = 'vector'
  embedded.length = 0
  return prepareCustomer(text, 1_000n * UNIT)
}
const SEMANTIC = /^hit; age=\d+; kind=semantic; similarity=0\.\d{1,4}$/
const ask = async ({ key }: Customer, body: object, headers = {}, path = CHAT) => {
  const reply = await postJson(key, path, body, headers)
  if (reply.response.status !== 200) throw new Error(reply.text)
  return resultOf(reply)
}
/** Asks a text that the cache has not, and waits until the store has the answer. */
const store = async (t: Test, customer: Customer, body: object, headers = {}) => {
  const reply = await postJson(customer.key, CHAT, body, headers)
  t.equal(resultOf(reply), 'miss', JSON.stringify(body))
  await eventually(async () => {
    const text = `SELECT id FROM cached_answers WHERE request = '${reply.id}' AND rest IS NOT NULL`
    return (await rows(text)).length === 1
  })
  return reply
}

t.test('similar answers: one entry serves every format, plain and streamed', async t => {
  const customer = await start()
  const first = await store(t, customer, chat('Weather base'))
  const before = count
  for (const stream of [false, true])
    for (const [format, path, body] of requestsOf('Weather near', stream)) {
      const name = `${format}${stream ? ', streamed' : ''}`
      const reply = await postJson(customer.key, path, body)
      t.match(resultOf(reply), SEMANTIC, name)
      t.match(resultOf(reply), 'similarity=0.99', name)
      t.equal(textIn(format, reply.text, stream), `Answer ${before}.`, name)
      const charge = await chargeOf(reply.id)
      t.equal(charge.amount, 2_000_000, name)
      t.match(charge, { estimated: 0, usage: { cached_call: 1 } }, name)
      const [row] = await rows(`SELECT served FROM charges WHERE request = '${reply.id}'`)
      t.equal(JSON.parse(String(row?.served)).cache, first.id, name)
    }
  t.equal(count, before, 'no answer of the upstream')
  t.match(await ask(customer, chat('Weather base')), 'kind=exact')
  const metrics = await (await gateway.askAdmin('/metrics')).text()
  t.match(metrics, /cache_total\{[^}]*result="similar"[^}]*\} \d/)
  t.match(metrics, /cache_embeddings_total\{[^}]*result="ok"[^}]*\} \d/)
  t.match(metrics, /cache_embedding_tokens_total(\{[^}]*\})? \d/)
  const models = await rows(
    `SELECT DISTINCT model FROM charges WHERE account = ${customer.account}`,
  )
  t.same(models, [{ model: 'words' }], 'the customer pays no embedding')
})

t.test('similar answers: what is less similar or different elsewhere is a miss', async t => {
  const customer = await start()
  await store(t, customer, chat('Fruit base'))
  t.equal(await ask(customer, chat('Fruit far')), 'miss', 'below the threshold')
  const system = (text: string, rules: string) =>
    chat('', { messages: [{ role: 'system', content: rules }, ...MESSAGES(text)] })
  await store(t, customer, system('Rules base', 'Be brief.'))
  t.equal(await ask(customer, system('Rules near', 'Be long.')), 'miss', 'system')
  t.match(await ask(customer, system('Rules near', 'Be brief.')), SEMANTIC)
  const later = (text: string, earlier: string) =>
    chat('', {
      messages: [...MESSAGES('Hi'), { role: 'assistant', content: earlier }, ...MESSAGES(text)],
    })
  await store(t, customer, later('History base', 'Yes?'))
  t.equal(await ask(customer, later('History near', 'No?')), 'miss', 'history')
  t.match(await ask(customer, later('History near', 'Yes?')), SEMANTIC)
  const tool = (text: string, name: string) =>
    chat(text, { tools: [{ type: 'function', function: { name, parameters: {} } }] })
  await store(t, customer, tool('Tools base', 'f'))
  t.equal(await ask(customer, tool('Tools near', 'g')), 'miss', 'tools')
  t.match(await ask(customer, tool('Tools near', 'f')), SEMANTIC)
  await store(t, customer, chat('Order base 7 apples'))
  t.equal(await ask(customer, chat('Order near 8 apples')), 'miss', 'numbers')
  t.match(await ask(customer, chat('Order near 7 apples')), SEMANTIC)
  await store(t, customer, chat('Models base'))
  t.equal(await ask(customer, chat('Models near', { model: 'twin' })), 'miss', 'model')
  t.equal(await ask(customer, chat('Models near', { model: 'exact' })), 'miss', 'an exact cache')
  t.match(await ask(customer, chat('Models near', { max_tokens: 51 })), 'miss', 'settings')
  t.match(await ask(customer, chat('Models near')), SEMANTIC)
  const other = await prepareCustomer(routes(), 1_000n * UNIT)
  t.equal(await ask(other, chat('Models base')), 'miss', 'another account')
  const long = `Long near ${'word '.repeat(1_000)}`
  embedded.length = 0
  t.equal(await ask(customer, chat(long)), 'miss')
  t.equal(await ask(customer, chat('Long near', { temperature: 1 })), 'bypass')
  t.same(embedded, [], 'neither is sent to the model of embeddings')
})

t.test('similar answers: a client raises the threshold, and never lowers it', async t => {
  const customer = await start()
  const by = (threshold: string) => ({ 'x-tollgate-cache-threshold': threshold })
  await store(t, customer, chat('Client base'))
  t.match(await ask(customer, chat('Client close')), 'similarity=0.97')
  t.match(await ask(customer, chat('Client close'), by('0.97')), SEMANTIC)
  t.equal(await ask(customer, chat('Client far'), by('0.1')), 'miss', 'lower than configured')
  t.match(
    await ask(customer, chat('Client close'), { 'cache-control': 'only-if-cached' }),
    SEMANTIC,
  )
  embedded.length = 0
  const refused = await postJson(customer.key, CHAT, chat('Client near'), by('high'))
  t.equal(refused.response.status, 400)
  t.match(refused.text, 'x-tollgate-cache-threshold')
  t.match(await chargeOf(refused.id), { amount: undefined })
  t.match(await ask(customer, chat('Client base'), by('1')), 'kind=exact')
  t.equal(await ask(customer, chat('Client near'), by('1')), 'miss')
  t.same(embedded, [], 'a threshold of 1 asks for no embedding')
  t.equal(await ask(customer, chat('Client close'), by('0.999')), 'miss', 'raised')
  await store(t, customer, chat('Fresh base'))
  t.equal(await ask(customer, chat('Fresh near'), { 'cache-control': 'no-cache' }), 'miss')
})

t.test('similar answers: a threshold out of range is refused', async t => {
  for (const threshold of [0.4, 1])
    await t.rejects(
      gateway.reload(routes(`{ semantic: { model: vectors, threshold: ${threshold} } }`)),
      { message: /cache\.semantic\.threshold/ },
      String(threshold),
    )
})

t.test('similar answers: an embedding that fails or is late is a miss, never an error', async t => {
  const customer = await start(routes('{ semantic: { model: vectors, timeout: 100ms } }'))
  for (const each of ['error', 'silence', 'zeros', 'nonsense'] as const) {
    mode = each
    const reply = await postJson(customer.key, CHAT, chat(`Failure ${each}`))
    t.equal(reply.response.status, 200, each)
    t.equal(resultOf(reply), 'miss', each)
    t.equal((await chargeOf(reply.id)).amount, 15_000_000, each)
    t.match(await ask(customer, chat(`Failure ${each}`)), 'kind=exact', 'the answer is stored')
  }
  const metrics = await (await gateway.askAdmin('/metrics')).text()
  t.match(metrics, /cache_embeddings_total\{[^}]*result="failed"[^}]*\} [1-9]/)
  await eventually(() => gateway.output().includes('the cache gets no embedding'))
})

t.test(
  'similar answers: equal requests at once need one embedding, each by its threshold',
  async t => {
    const customer = await start()
    await store(t, customer, chat('Queue base'))
    embedded.length = 0
    const ends: (() => void)[] = []
    waiting = ends
    const askMany = (headers: object = {}) =>
      Array.from({ length: 4 }, () => ask(customer, chat('Queue near'), headers))
    const lenient = askMany()
    await eventually(() => ends.length > 0)
    // No strict call may store an answer to the same text before the lenient calls have ended.
    const answers = Promise.withResolvers<void>()
    answersHeld = answers.promise
    const strict = askMany({ 'x-tollgate-cache-threshold': '0.999' })
    waiting = undefined
    for (const end of ends) end()
    for (const result of await Promise.all(lenient)) t.match(result, SEMANTIC)
    answers.resolve()
    for (const result of await Promise.all(strict)) t.notMatch(result, SEMANTIC)
    t.ok(embedded.length <= 2 + 4, `${embedded.length} embeddings: one in each of two workers`)
  },
)

t.test('similar answers: a text does not leave its zone', async t => {
  const customer = await start()
  t.equal(await ask(customer, chat('Zone base'), {}, '/eu'), 'miss')
  t.equal(await ask(customer, chat('Zone near'), {}, '/eu'), 'miss')
  t.match(await ask(customer, chat('Zone near'), {}, '/eu'), 'kind=exact')
  t.same(embedded, [])
  const metrics = await (await gateway.askAdmin('/metrics')).text()
  t.match(metrics, /cache_embeddings_total\{[^}]*result="not_permitted"[^}]*\} [1-9]/)
})

t.test('similar answers: a purge removes vectors, whose bytes count', async t => {
  const customer = await start()
  const { id } = await store(t, customer, chat('Purge base'))
  const [row] = await rows(
    `SELECT bytes, length(answer) AS answer, length(vector) AS vector FROM cached_answers WHERE request = '${id}'`,
  )
  t.match(row, { vector: 400, bytes: Number(row?.answer) + 400 })
  t.match(await ask(customer, chat('Purge near')), SEMANTIC)
  const body = JSON.stringify({ account: customer.account })
  const purged = await gateway.askAdmin('/-/admin/cache/purge', { method: 'POST', body })
  t.match(await purged.json(), { removed: 1 })
  t.equal(await ask(customer, chat('Purge close')), 'miss')
})

t.test('docs/cache.md: its example serves similar texts', async t => {
  const example = blocksOf('docs/cache.md').find(({ text }) => text.includes('semantic:'))?.text
  const [section = ''] = /^cache:\n(?: .*\n)+/m.exec(example ?? '') ?? []
  t.match(section, 'gp-embedding-3-small')
  const customer = await start(
    routes()
      .replace(/^cache: .*\n/m, section)
      .replace('  vectors:', '  gp-embedding-3-small:'),
  )
  await store(t, customer, chat('Docs base'))
  t.match(await ask(customer, chat('Docs near')), SEMANTIC)
})
