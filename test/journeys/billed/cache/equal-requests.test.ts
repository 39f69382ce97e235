/** The cache of equal requests: one entry for all formats, plain and streamed; its charge; owners
 *  who never share; requests at once, and a first one that fails; what is never cached. */
import type { ServerResponse } from 'node:http'
import t from 'tap'
import { blockOf } from '../../../docs/blocks.ts'
import { textIn } from '../../../helpers/formats/listening-gateway.ts'
import {
  answerChat,
  CHAT_FACTS,
  startTextUpstream,
} from '../../../helpers/gateway/chat-upstream.ts'
import { eventually } from '../../../helpers/gateway/primary.ts'
import {
  type Customer,
  chargeOf,
  database,
  gateway,
  postJson,
  prepareCustomer,
  rows,
  UNIT,
} from '../../../helpers/money/billing-gateway.ts'
import { CHAT_ROUTES, chat, MESSAGES, requestsOf, resultOf } from './cached-requests.ts'

interface Waiting {
  readonly text: string
  readonly response: ServerResponse
}
let count = 0
/** Requests that wait for the test, while it holds them. */
let waiting: Waiting[] | undefined
const answer = ({ text, response }: Waiting) => {
  const facts = { ...CHAT_FACTS, id: `resp-${++count}` }
  if (text.includes('break')) return void response.writeHead(500).end('{}')
  const call = text.includes('"call"')
  const content = call ? null : `Answer ${count}.`
  const tool_calls = [
    { id: 'c1', index: 0, type: 'function', function: { name: 'f', arguments: '{}' } },
  ]
  const message = { role: 'assistant', content, ...(call && { tool_calls }) }
  const reason = text.includes('"long"') ? 'length' : call ? 'tool_calls' : 'stop'
  const onEvent = () => text.includes('"cut"') && response.destroy()
  void answerChat(text, response, { facts, message, reason, onEvent })
}
const upstream = await startTextUpstream(t, (text, response) => {
  const each = { text, response }
  if (waiting) waiting.push(each)
  else answer(each)
})

const routes = (
  cache = '{ exact: {} }',
  price = 'input: 1 / 1k, output: 1 / 1k, cached_call: 2 / 1k',
) => `
cache: ${cache}
guards: { pii: { find: email, do: mask, restore: true } }
pipeline: [errors, auth, model, meter, console, translate, guard, cache]
upstreams:
  up: { url: '${upstream}', formats: [openai-chat] }
models:
  words: { to: up/words-of-up, cache: exact, price: { ${price} }, output: 1000 }
  twin: { to: up/words-of-up, cache: exact, price: { ${price} }, output: 1000 }
  others: { to: up/words-of-up, price: { ${price} }, output: 1000 }
routes:
${CHAT_ROUTES}
  - { path: POST /guarded, auth: key, model: body, translate: openai-chat, guard: pii }
`
const hold = () => {
  const list: Waiting[] = []
  waiting = list
  return list
}
const release = () => {
  const list = waiting ?? []
  waiting = undefined
  for (const each of list) answer(each)
}

t.test('cache: one entry serves every format, plain and streamed', async t => {
  const { key } = await prepareCustomer(routes(), 1_000n * UNIT)
  const before = count
  let first: string | undefined
  for (const from of [0, 1, 2, 3]) {
    const text = `Question ${from}`
    const all = [false, true].flatMap(stream =>
      requestsOf(text, stream).map(each => [...each, stream] as const),
    )
    const ordered = [...all.slice(from * 2), ...all.slice(0, from * 2)]
    for (const [index, [format, path, body, stream]] of ordered.entries()) {
      const name = `${format}${stream ? ', streamed' : ''}, entry ${from}`
      const reply = await postJson(key, path, body)
      if (index === 0) first = reply.id
      t.equal(textIn(format, reply.text, stream), `Answer ${before + from + 1}.`, name)
      t.match(resultOf(reply), index === 0 ? 'miss' : /^hit; age=\d+; kind=exact$/, name)
      const charge = await chargeOf(reply.id)
      t.equal(charge.amount, index === 0 ? 15_000_000 : 2_000_000, name)
      if (index === 0) continue
      t.match(charge, { estimated: 0, usage: { cached_call: 1 } }, name)
      t.match(charge.lines, [{ meter: 'cached_call', quantity: '1' }], name)
      const [row] = await rows(`SELECT served FROM charges WHERE request = '${reply.id}'`)
      t.equal(JSON.parse(String(row?.served)).cache, first, name)
    }
  }
  t.equal(count, before + 4, 'four requests reached the upstream')
})

t.test('cache: owners, models and requests that differ share nothing', async t => {
  const text = routes()
  const ann = await prepareCustomer(text, 1_000n * UNIT)
  const bob = await prepareCustomer(text, 1_000n * UNIT)
  const ask = async ({ key }: Customer, body: object, path = '/v1/chat/completions') =>
    resultOf(await postJson(key, path, body))
  t.equal(await ask(ann, chat('Mine')), 'miss')
  t.match(await ask(ann, chat('Mine')), 'hit')
  t.equal(await ask(bob, chat('Mine')), 'miss', 'another account')
  for (const [name, body] of Object.entries({
    model: chat('Mine', { model: 'twin' }),
    text: chat('Mine.'),
    limit: chat('Mine', { max_tokens: 51 }),
    stop: chat('Mine', { stop: ['x'] }),
    seed: chat('Mine', { seed: 1 }),
    form: chat('Mine', { response_format: { type: 'json_object' } }),
    tools: chat('Mine', {
      tools: [
        { type: 'function', function: { name: 'f', parameters: { properties: { at: {} } } } },
      ],
    }),
    properties: chat('Mine', {
      tools: [
        { type: 'function', function: { name: 'f', parameters: { properties: { cache: {} } } } },
      ],
    }),
    system: chat('Mine', { messages: [{ role: 'system', content: 's' }, ...MESSAGES('Mine')] }),
  })) {
    t.equal(await ask(ann, body), 'miss', name)
    t.match(await ask(ann, body), 'hit', name)
  }
  t.equal(await ask(ann, chat('Mine'), '/guarded'), 'miss', 'other guards')
  t.equal(await ask(ann, chat('Mine', { model: 'others' })), null, 'a model without a cache')
})

t.test('cache: requests and answers that are never cached', async t => {
  const { key } = await prepareCustomer(routes(), 1_000n * UNIT)
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
  for (const [name, body] of Object.entries({
    temperature: chat('No', { temperature: 0.5 }),
    'no temperature': chat('No', { temperature: undefined }),
    candidates: chat('No', { n: 2 }),
    stored: chat('No', { store: true }),
    logprobs: chat('No', { logprobs: true }),
    image: chat('', { messages: [{ role: 'user', content: [image] }] }),
    unknown: chat('No', { some_new_member: 1 }),
  }))
    for (let times = 0; times < 2; times++) {
      const reply = await postJson(key, '/v1/chat/completions', body)
      t.equal(reply.response.status, 200, `${name}: ${reply.text}`)
      t.equal(resultOf(reply), 'bypass', name)
    }
  for (const word of ['call', 'long', 'cut', 'break'])
    for (const stream of [true, false]) {
      if (word === 'cut' && !stream) continue
      const body = chat(word, { stop: [word], stream })
      for (let times = 0; times < 2; times++)
        t.notMatch(resultOf(await postJson(key, '/v1/chat/completions', body)) ?? '', 'hit', word)
    }
})

t.test('cache: equal requests at once are sent once, also if the first one leaves', async t => {
  // One process: workers wait for their own requests only.
  const { key } = await prepareCustomer(routes(), 1_000n * UNIT)
  const list = hold()
  const body = chat('At once', { stream: true })
  const calls = Array.from({ length: 12 }, () => postJson(key, '/v1/chat/completions', body))
  await eventually(() => list.length >= 1)
  t.ok(list.length <= 2, 'at most one of each worker')
  release()
  const replies = await Promise.all(calls)
  const hits = replies.filter(each => /^hit/.test(resultOf(each) ?? ''))
  t.ok(hits.length >= 10, `${hits.length} hits`)
  t.ok(replies.every(({ response }) => response.status === 200))

  const requests = hold()
  const leaver = new AbortController()
  const leaving = fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    signal: leaver.signal,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(chat('Leader leaves')),
  }).catch(() => 'left')
  await eventually(() => requests.length === 1)
  const others = Array.from({ length: 6 }, () =>
    postJson(key, '/v1/chat/completions', chat('Leader leaves')),
  )
  leaver.abort()
  t.equal(await leaving, 'left')
  await eventually(() => requests.length >= 2)
  release()
  for (const { response } of await Promise.all(others)) t.equal(response.status, 200)
})

t.test('cache: the store decides for all workers, where the configuration says so', async t => {
  const { key } = await prepareCustomer(routes('{ exact: { leader: store } }'), 1_000n * UNIT)
  const list = hold()
  const body = chat('At once, in all workers', { stream: true })
  const calls = Array.from({ length: 12 }, () => postJson(key, '/v1/chat/completions', body))
  await eventually(() => list.length >= 1)
  const leaders = await eventually(async () => {
    const leading = await rows('SELECT id FROM cache_leaders')
    return leading.length > 0 && leading
  })
  t.equal(leaders.length, 1)
  release()
  const results = (await Promise.all(calls)).map(each => resultOf(each) ?? '')
  t.equal(results.filter(each => each === 'miss').length, 1)
  t.equal(results.filter(each => each.startsWith('hit')).length, 11)
  t.equal(list.length, 1, 'one request was sent')
  t.same(await rows('SELECT id FROM cache_leaders'), [])
})

t.test('cache: cache-control of requests', async t => {
  const { key } = await prepareCustomer(routes(), 1_000n * UNIT)
  const ask = (text: string, control: string) =>
    postJson(key, '/v1/chat/completions', chat(text), { 'cache-control': control })
  const missing = await ask('Control', 'only-if-cached')
  t.equal(missing.response.status, 504)
  t.match(missing.text, 'only-if-cached')
  t.match(await chargeOf(missing.id), { amount: undefined })
  t.equal(resultOf(await ask('Control', 'no-store')), null)
  t.equal(resultOf(await ask('Control', '')), 'miss')
  t.match(resultOf(await ask('Control', 'only-if-cached, x=1')), 'hit')
  t.match(resultOf(await ask('Control', 'max-age=600')), 'hit')
  t.equal(resultOf(await ask('Control', 'no-cache')), 'miss')
  t.equal(resultOf(await ask('Control', 'no-store')), null)
  t.match(resultOf(await ask('Control', 'max-age=wrong')), 'hit', 'a wrong value is requests out')
})

t.test('cache: answers pass the guards again, and a text of the client is restored', async t => {
  const { key } = await prepareCustomer(routes(), 1_000n * UNIT)
  const ask = (address: string) => postJson(key, '/guarded', chat(`Write to ${address}`))
  t.equal(resultOf(await ask('ann@example.com')), 'miss')
  const other = await ask('bob@example.com')
  t.match(resultOf(other), 'hit', 'masked requests are equal')
  t.equal(other.response.headers.get('x-tollgate-guard'), 'pii=masked(1)')
})

t.test(
  'cache: another process reads the store; a purge is followed; bytes are bounded',
  async t => {
    const text = routes('{ exact: { store: 300KiB } }')
    const { key, account } = await prepareCustomer(text, 1_000n * UNIT)
    const ask = async (question: string) =>
      resultOf(await postJson(key, '/v1/chat/completions', chat(question)))
    t.equal(await ask('Purged'), 'miss')
    await gateway.reload(`${text}\n# another version\n`)
    t.match(await ask('Purged'), 'hit')
    const admin = async (path: string, body?: object) => {
      const init = body && { method: 'POST', body: JSON.stringify(body) }
      return (await gateway.askAdmin(`/-/admin/cache/${path}`, init)).json()
    }
    t.match(await admin('show'), { answers: /^[1-9]/ })
    t.match(await admin('purge', { model: 'none' }), { removed: 0 })
    t.match(await admin('purge', { account, model: 'words' }), { removed: 1 })
    await eventually(async () => (await ask('Purged')) === 'miss')
    t.match(await admin('purge', { account: 'nobody' }), { error: {} })
    const entry = (index: number) =>
      `('big-${index}', 1, 'm', 'r', ${index}, 9000000000000, 100000, 'x')`
    const list = Array.from({ length: 8 }, (_, index) => entry(index + 1)).join()
    const columns = 'id, account, model, request, at, expires, bytes, answer'
    const insert = `INSERT INTO cached_answers (${columns}) VALUES ${list}`
    await database.write([{ sql: { name: 'test: fill the cache', text: insert }, values: [] }])
    await eventually(async () => {
      const { bytes } = (await admin('show')) as { readonly bytes: number }
      return bytes <= 300 * 1024
    })
    const [row] = await rows("SELECT COUNT(*) AS count FROM cached_answers WHERE id = 'big-1'")
    t.equal(row?.count, 0, 'the oldest went first')
  },
)

t.test('cache: without a price of its own a hit is free; ttl', async t => {
  const text = routes(
    '{ exact: { ttl: 1s, share: team } }',
    'input: 1 / 1k, output: 1 / 1k, calls: 5',
  )
  const { key } = await prepareCustomer(text, 1_000n * UNIT)
  const ask = () => postJson(key, '/v1/chat/completions', chat('Free'))
  const free = await eventually(async () => {
    const reply = await ask()
    return /^hit/.test(resultOf(reply) ?? '') && reply
  })
  t.match(await chargeOf(free.id), { amount: 0, lines: [] })
  await eventually(async () => resultOf(await ask()) === 'miss')
})

t.test('docs/cache.md: its example caches', async t => {
  const example = blockOf('docs/cache.md', 'yaml')
  const [section = ''] = /^cache:\n(?: .*\n)+/m.exec(example) ?? []
  t.match(section, 'exact')
  const { key } = await prepareCustomer(
    routes().replace('cache: { exact: {} }\n', section),
    1_000n * UNIT,
  )
  await postJson(key, '/v1/chat/completions', chat('Docs'))
  await eventually(async () =>
    /^hit/.test(resultOf(await postJson(key, '/v1/chat/completions', chat('Docs'))) ?? ''),
  )
})
