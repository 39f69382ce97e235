/** The usage of an account over sockets and a real store: sums equal the ledger, pages are
 *  complete, and only the owner reads a receipt. */
import t from 'tap'
import { bearer, postTo } from '../../helpers/gateway/post.ts'
import type { ShownUsage } from '../../helpers/money/account-gateway.ts'
import { gateway } from './account-gateway.ts'

const { ask } = gateway
const UNIT = 10n ** 9n
const DAY = 86_400_000
const NOVEMBER = Date.UTC(2025, 10, 1)

const ann = await gateway.account('annie')
await gateway.credit(ann, 1_000n * UNIT)
const [key, other] = [await gateway.addKey(ann, { name: 'laptop' }), await gateway.addKey(ann)]
const token = (await gateway.addToken(ann)).text
const eve = await gateway.account('evie')
const stranger = { key: await gateway.addKey(eve), token: (await gateway.addToken(eve)).text }

/** Twelve calls: three a day on four days; the third of each day uses another model and key. */
const CALLS = Array.from({ length: 12 }, (_, index) => ({
  account: ann,
  key: index % 3 === 2 ? other.id : key.id,
  request: `req_${index}`,
  model: index % 3 === 2 ? 'by-call' : 'plain',
  at: NOVEMBER + Math.floor(index / 3) * DAY + (index % 3) * 1_000,
  meters: { input: 1_204 * (index + 1), output: 311 },
}))
for (const call of CALLS) await gateway.payCall(call)
const WHEN = 'from=2025-11-01&to=2025-12-01'

/** The rows of all pages of a query. */
const all = async (query: string, limit: number): Promise<ShownUsage[]> => {
  const rows: ShownUsage[] = []
  for (let cursor = ''; ; ) {
    const path = `/api/usage?${WHEN}&${query}&limit=${limit}${cursor}`
    const { status, body } = await ask('GET', path, token)
    if (status !== 200) throw new Error(body.message)
    if (body.data.length > limit) throw new Error('more than the limit')
    rows.push(...body.data)
    if (body.next === null) return rows
    cursor = `&cursor=${body.next}`
  }
}
const nanosOf = (rows: readonly ShownUsage[]) =>
  rows.reduce((sum, { cost }) => sum + Math.round(cost * 1e9), 0)

t.test('usage by call: newest first, every call once at any page size', async t => {
  const whole = await all('by=call', 1_000)
  t.same(
    whole.map(row => row.request_id),
    CALLS.map(({ request }) => request).reverse(),
  )
  for (const limit of [1, 5, 12, 13]) t.same(await all('by=call', limit), whole)
  t.same((await ask('GET', `/api/usage?${WHEN}`, token)).body.data, whole, 'the default')
  t.match(whole.at(-1), {
    request_id: 'req_0',
    at: '2025-11-01T00:00:00.000Z',
    route: 'chat',
    model: 'plain',
    key: key.id,
    state: 'settled',
    estimated: false,
    cost: 0.004896,
    refunded: 0,
  })
})

t.test('usage sums: equal the ledger for every grouping and page size', async t => {
  const [wallet] = await gateway.database.read(
    { name: 'test: used', text: 'SELECT used FROM wallets WHERE id = ?' },
    [ann * 2],
  )
  for (const by of ['call', 'day', 'model', 'key']) {
    const whole = await all(`by=${by}`, 1_000)
    t.equal(nanosOf(whole), wallet?.used, by)
    for (const limit of [1, 3]) t.same(await all(`by=${by}`, limit), whole, `${by} by ${limit}`)
  }
  const days = await all('by=day', 100)
  const names = ['2025-11-01', '2025-11-02', '2025-11-03', '2025-11-04']
  t.match(
    days,
    names.map((day, at) => ({
      day,
      calls: 3,
      input_tokens: 1_204 * (9 * at + 6),
      cached_tokens: 0,
      output_tokens: 933,
    })),
  )
  const overview = await ask('GET', `/api/usage/overview?${WHEN}`, token)
  const cells = overview.body.data as unknown as readonly { readonly output: number }[]
  const answers = cells.reduce((sum, { output }) => sum + output, 0)
  t.equal(answers, 12 * 311)
  t.match(await all('by=model', 100), [
    { model: 'by-call', calls: 4 },
    { model: 'plain', calls: 8 },
  ])
  t.match(await all('by=key', 100), [
    { key: key.id, name: 'laptop', masked: /^sk-.\*{10}....$/, calls: 8 },
    { key: other.id, calls: 4 },
  ])
})

t.test('usage order: sorts by each column both ways, at any page size', async t => {
  const SORTS = { call: ['time', 'cost', 'model'], day: ['name', 'calls', 'cost'] } as const
  const MEMBERS: Readonly<Record<string, string>> = { time: 'at', name: 'day' }
  for (const [by, sorts] of Object.entries(SORTS))
    for (const sort of sorts)
      for (const order of ['asc', 'desc']) {
        const query = `by=${by}&sort=${sort}&order=${order}`
        const whole = await all(query, 1_000)
        const values = whole.map(row => (row as never)[MEMBERS[sort] ?? sort] as string | number)
        const sorted = values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
        t.same(values, order === 'asc' ? sorted : sorted.reverse(), query)
        t.equal(whole.length, by === 'call' ? 12 : 4)
        for (const limit of [1, 5]) t.same(await all(query, limit), whole, `${query}, ${limit}`)
      }
  const { body } = await ask('GET', `/api/usage?${WHEN}&sort=cost&limit=1`, token)
  const other = await ask('GET', `/api/usage?${WHEN}&sort=model&cursor=${body.next}`, token)
  t.equal(other.status, 400, 'the cursor of another order')
})

t.test('usage as CSV: every row of the filter, in its order, with exact amounts', async t => {
  const { status, text } = await ask('GET', `/api/usage?${WHEN}&format=csv&sort=cost`, token)
  t.equal(status, 200)
  const [head, ...lines] = text.trimEnd().split('\r\n')
  t.equal(
    head,
    'at,request_id,model,route,key,member,state,estimated,cost (CNY),refunded (CNY),planned (CNY),tier,speed,geography,zone,tags,rule,guard,first_content_ms,ms,input_tokens,cached_tokens,output_tokens',
  )
  t.equal(lines.length, 12)
  t.match(
    lines.at(-1),
    /^2025-11-01T00:00:00\.000Z,req_0,plain,chat,\d+,,settled,false,0\.004896,0,0,,,,,,,,,,\d+,\d+,\d+$/,
  )
  const filtered = await ask('GET', `/api/usage?${WHEN}&format=csv&model=by-call`, token)
  t.equal(filtered.text.trimEnd().split('\r\n').length, 5)
  const sums = await ask('GET', `/api/usage?${WHEN}&format=csv&by=key`, token)
  t.match(sums.text, /\r\n\d+,laptop,sk-.\*{10}....,8,\d+,0,2488,,,,,0\.\d+,0\r\n/)
})

t.test('usage parameters: unknown and empty ones are refused, each by its name', async t => {
  for (const path of ['/api/usage', '/api/usage/overview']) {
    for (const name of ['form', 'From', 'account', 'by_model']) {
      const { status, body, text } = await ask('GET', `${path}?${WHEN}&${name}=a`, token)
      t.match({ status, body }, { status: 400, body: { param: name } }, `${path} ${name}`)
      t.match(text, /is not a parameter here; (?:the known ones are .*, to|do you mean `\w+`\?)/)
    }
    for (const name of ['from', 'to']) {
      const { status, text } = await ask('GET', `${path}?${name}=`, token)
      t.equal(status, 400)
      t.match(text, `\`${name}\` is empty; give it a value, or leave it out`)
    }
  }
  for (const name of [
    'model',
    'key',
    'state',
    'tag',
    'rule',
    'status',
    'code',
    'by',
    'format',
    'cursor',
  ]) {
    const { status, body } = await ask('GET', `/api/usage?${WHEN}&${name}=`, token)
    t.match({ status, body }, { status: 400, body: { param: name } }, name)
  }
  t.equal((await ask('GET', `/api/usage/overview?${WHEN}&model=plain`, token)).status, 400)
})

t.test('usage period: includes its start and excludes its end', async t => {
  const count = async (when: string) =>
    (await ask('GET', `/api/usage?${when}`, token)).body.data.length
  t.equal(await count('from=2025-11-02&to=2025-11-03'), 3)
  t.equal(await count('from=2025-11-02T00:00:00.001Z&to=2025-11-03'), 2)
  t.equal(await count('from=2025-11-02T08:00:00%2B08:00&to=2025-11-03'), 3)
  t.equal(await count(''), 0, 'the last thirty days')
})

t.test('usage query: invalid parameters are refused with the valid ones', async t => {
  const INVALID_QUERIES: readonly (readonly [query: string, message: RegExp])[] = [
    ['from=yesterday', /`from` must be a date/],
    ['to=2025-02-31', /`to` must be a date/],
    ['from=2025-11-02&to=2025-11-01', /before/],
    ['by=hour', /call, day, model, key/],
    ['by=constructor', /call, day, model, key/],
    ['limit=0', /1 to 1000/],
    ['limit=1e3', /1 to 1000/],
    ['cursor=x', /`cursor`/],
    [`cursor=${Buffer.from('["day",1]').toString('base64url')}`, /`cursor`/],
    ["cursor='; DROP TABLE charges; --", /`cursor`/],
    ['by=day&by=key', /must not be repeated/],
    ['sort=calls', /time, cost, model/],
    ['by=day&sort=time', /name, calls, cost/],
    ['order=up', /asc or desc/],
    ['format=xml', /json or csv/],
    [`cursor=${Buffer.from('["call time desc","x","y"]').toString('base64url')}`, /`cursor`/],
  ]
  for (const [query, message] of INVALID_QUERIES)
    t.match(await ask('GET', `/api/usage?${query}`, token), {
      status: 400,
      body: { success: false, message },
    })
  for (const credential of [undefined, key.text])
    t.equal((await ask('GET', '/api/usage', credential)).status, 401)
})

t.test('usage: an account sees no calls of another account', async t => {
  for (const by of ['call', 'day', 'model', 'key'])
    t.same((await ask('GET', `/api/usage?${WHEN}&by=${by}`, stranger.token)).body.data, [])
})

t.test('receipt: lists quantity, price and amount of each meter', async t => {
  const { status, body, text } = await ask('GET', '/api/usage/req_0', token)
  t.equal(status, 200)
  t.match(body.data, {
    request_id: 'req_0',
    model: 'plain',
    state: 'settled',
    cost: 0.004896,
    uncollected: 0,
    usage: { input: 1_204, output: 311 },
    closed: '2025-11-01T00:00:00.005Z',
    lines: [
      { meter: 'input', quantity: '1204', price: '2.00', per: '1M', amount: 0.002408 },
      { meter: 'output', quantity: '311', price: '8.00', per: '1M', amount: 0.002488 },
    ],
    formula: '1,204 input x 2.00/1M + 311 output x 8.00/1M = 0.004896',
  })
  t.match(text, '"cost":"0.004896",')
})

t.test('receipt: readable by its account and by the key of the call only', async t => {
  t.equal((await ask('GET', '/api/usage/req_0', key.text)).status, 200)
  const missing = await ask('GET', '/api/usage/req_x', token)
  t.equal(missing.status, 404)
  const foreignCredentials = [other.text, stranger.key.text, stranger.token]
  for (const credential of foreignCredentials) {
    const { status, text } = await ask('GET', '/api/usage/req_0', credential)
    t.equal(status, 404)
    t.equal(text, missing.text.replace('req_x', 'req_0'), 'as if there were none')
  }
  for (const id of ["' OR '1'='1", 'x'.repeat(500), 'ä', 'a b'])
    t.match(await ask('GET', `/api/usage/${encodeURIComponent(id)}`, token), {
      status: 404,
      body: { success: false },
    })
  t.equal((await ask('GET', '/api/usage/%00', token)).status, 400)
  t.equal((await ask('GET', '/api/usage/req_0')).status, 401)
})

t.test('call over HTTP: receipt, sums, key and account report the same cost', async t => {
  const fay = await gateway.account('fay')
  await gateway.credit(fay, 10n * UNIT)
  const own = {
    key: await gateway.addKey(fay, { quota: { total: 1_000_000, period: null } }),
    token: await gateway.addToken(fay),
  }
  const messages = [{ role: 'user', content: 'Hello' }]
  const response = await postTo(
    `${gateway.url}/v1/chat/completions`,
    { model: 'plain', messages, max_tokens: 500 },
    bearer(own.key.text),
  )
  t.equal(response.status, 200)
  const answer = (await response.json()) as { usage: Record<string, number> }
  const request = response.headers.get('x-request-id')
  const { body } = await ask('GET', `/api/usage/${request}`, own.key.text)
  const { prompt_tokens: input, completion_tokens: output } = answer.usage
  t.match(body.data, {
    state: 'settled',
    model: 'plain',
    key: own.key.id,
    usage: { input, output },
  })
  const cost = Math.round(body.data.cost * 1e9)
  t.equal(cost, (input ?? 0) * 14_400 + (output ?? 0) * 57_600)
  for (const by of ['call', 'day', 'model', 'key']) {
    const page = await ask('GET', `/api/usage?by=${by}`, own.token.text)
    t.equal(nanosOf(page.body.data), cost, by)
  }
  // Quota is rounded down, and both parts still add up.
  const remaining = Math.floor((2_000_000_000 - cost) / 2_000)
  const balance = await ask('GET', `/api/token/balance?key=${own.key.text}`)
  t.match(balance.body.data, {
    remaining_quota: remaining,
    used_quota: 1_000_000 - remaining,
    total_quota: 1_000_000,
  })
  const account = await ask('GET', '/api/user/info', own.token.text)
  t.match(account.body.data, { quota: Math.floor((10_000_000_000 - cost) / 2_000) })
})
