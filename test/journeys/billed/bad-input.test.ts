/** What nobody should be charged for: credentials that are none, and requests that make no sense, on a billable route in each
 *  dialect. The right error, and not a row changed. */
import t from 'tap'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import {
  addKey,
  createAccount,
  revoke,
  suspendAccount,
} from '../../../plugins/credentials/statements.ts'
import { begin, database, gateway, idOf, type Own, rows, UNIT, upstream } from './stand.ts'

const ROUTES = `
pipeline: [errors, auth, model, meter, translate]
upstreams: { up: { url: '${upstream.url}/s/chat' } }
models:
  words: { to: up, price: { input: 1 / 1M, output: 1 / 1k }, output: 1000 }
routes:
  - { path: POST /openai, auth: key, model: body, translate: openai-chat, errors: openai, rewrite: '/' }
  - { path: POST /anthropic, auth: key, model: body, translate: openai-chat, errors: anthropic, rewrite: '/' }
  - { path: POST /google, auth: key, model: body, translate: openai-chat, errors: google, rewrite: '/' }
`
const everything = async () => ({
  charges: await rows('SELECT * FROM charges ORDER BY request'),
  credits: await rows('SELECT * FROM credits ORDER BY id'),
  wallets: await rows('SELECT id, balance, used FROM wallets WHERE id % 2 = 0 ORDER BY id'),
  accounts: await rows('SELECT * FROM accounts ORDER BY id'),
  keys: await rows('SELECT * FROM api_keys ORDER BY id'),
})

const PATHS = ['/openai', '/anthropic', '/google'] as const
const PLACES: Readonly<
  Record<(typeof PATHS)[number], (error: Record<string, unknown>) => unknown>
> = {
  '/openai': ({ error }) => (error as { message?: unknown }).message,
  '/anthropic': ({ type, error }) => type === 'error' && (error as { message?: unknown }).message,
  '/google': ({ error }) => (error as { status?: unknown; message?: unknown }).message,
}
const ask = async (path: string, credential: string, body: string) => {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
    body,
  })
  return { status: response.status, text: await response.text() }
}
const good = JSON.stringify({ model: 'words', messages: [], max_tokens: 5 })

let own: Own
/** Each with what it is, and what it is refused with. */
const credentials = async (): Promise<(readonly [string, string, number])[]> => {
  const now = Date.now()
  const secretOf = async (more: object = {}, account = own.account) => {
    const secret = makeSecret('key')
    return {
      text: secret.text,
      id: await idOf(addKey({ account, name: 'k', secret, ...more }, now)),
    }
  }
  const sue = await idOf(createAccount({ name: 'sue', role: 'customer' }, now))
  const revoked = await secretOf()
  await database.write(revoke('key', revoked.id, now))
  const expired = await secretOf({ expires: now - 1 })
  const suspended = await secretOf({}, sue)
  await database.write(suspendAccount(sue, now))
  return [
    ['of nobody', makeSecret('key').text, 401],
    ['revoked', revoked.text, 401],
    ['expired', expired.text, 401],
    ['of a suspended account', suspended.text, 403],
    ['a system token', makeSecret('system-token').text, 401],
    ['SQL', "sk-'||(SELECT(digest)FROM(api_keys))||'", 401],
    ['SQL that ends a statement', "sk-x';DROP/**/TABLE/**/charges;--", 401],
    ['a right one and SQL', `${own.key}'--`, 401],
    ['very long', `sk-${'A'.repeat(4_000)}`, 401],
    ['a number', '1234567890', 401],
    ['its own digest', '0'.repeat(64), 401],
  ]
}

t.test('credentials', async t => {
  own = await begin(ROUTES, UNIT)
  const all = await credentials()
  const before = await everything()
  for (const [what, credential, status] of all)
    for (const path of PATHS) {
      const said = await ask(path, credential, good)
      t.equal(said.status, status, `${path}: ${what}`)
      t.type(PLACES[path](JSON.parse(said.text)), 'string', 'in its dialect')
      t.notOk(said.text.includes(credential), 'which is not repeated')
    }
  t.same(await everything(), before, 'nothing changed')
})

/** A balance of 1: what holds more is refused. */
const BODIES: readonly (readonly [body: object | string, status: number])[] = [
  [{ model: "words'; DROP TABLE charges; --" }, 404],
  [{ model: "' OR 1=1 --" }, 404],
  [{ model: 7 }, 400],
  [{ model: 'words', n: 1e9 }, 403],
  [{ model: 'words', max_tokens: 10, n: 1e300 }, 400],
  [{ model: 'words', n: 101, max_tokens: 1e300 }, 403],
  ['{"model":"words","max_tokens":1e999,"n":5}', 403],
]
t.test('requests', async t => {
  const before = await everything()
  for (const [body, status] of BODIES)
    for (const path of PATHS) {
      const text = typeof body === 'string' ? body : JSON.stringify({ messages: [], ...body })
      const said = await ask(path, own.key, text)
      t.equal(said.status, status, `${path}: ${text}: ${said.text}`)
      t.type(PLACES[path](JSON.parse(said.text)), 'string', 'in its dialect')
    }
  t.same(await everything(), before, 'nothing changed')
})

t.test(
  'amounts that bound nothing hold what the model may write, and never less than nothing',
  async t => {
    const usage = { prompt_tokens: 1, completion_tokens: 1 }
    const answer = JSON.stringify({ id: 'x', choices: [], usage })
    const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${answer.length}\r\n\r\n`
    await upstream.script('chat', [{ do: 'send', bytes: head + answer }])
    const charges = 'SELECT held, amount FROM charges ORDER BY opened'
    for (const amount of ['-5', '-1e300', '0.5', '"5"', 'null', 'true', '[]', '{"$gt":0}']) {
      const { length } = await rows(charges)
      const body = `{"model":"words","messages":[],"max_tokens":${amount},"n":${amount}}`
      const { status } = await ask('/openai', own.key, body)
      t.ok([200, 400, 403].includes(status), `${amount}: ${status}`)
      for (const row of (await rows(charges)).slice(length))
        t.ok(Number(row.amount) >= 0 && Number(row.held) >= Number(row.amount), amount)
    }
    const [wallet] = await rows(`SELECT balance, used FROM wallets WHERE id = ${own.wallet}`)
    t.equal(Number(wallet?.balance) + Number(wallet?.used), 1e9)
  },
)
