/** Requests that must not be charged: invalid credentials and malformed bodies on a billed route of
 *  each dialect get the right error and change no row. */
import t from 'tap'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import {
  addKey,
  createAccount,
  revoke,
  suspendAccount,
} from '../../../plugins/credentials/statements.ts'
import { bearer, postTo } from '../../helpers/gateway/post.ts'
import {
  type Customer,
  database,
  gateway,
  idOf,
  prepareCustomer,
  rows,
  UNIT,
  upstream,
} from '../../helpers/money/billing-gateway.ts'

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
const ledgerRows = async () => ({
  charges: await rows('SELECT * FROM charges ORDER BY request'),
  credits: await rows('SELECT * FROM credits ORDER BY id'),
  wallets: await rows('SELECT id, balance, used FROM wallets WHERE id % 2 = 0 ORDER BY id'),
  accounts: await rows('SELECT * FROM accounts ORDER BY id'),
  keys: await rows('SELECT * FROM api_keys ORDER BY id'),
})

const PATHS = ['/openai', '/anthropic', '/google'] as const
const MESSAGE_OF: Readonly<
  Record<(typeof PATHS)[number], (error: Record<string, unknown>) => unknown>
> = {
  '/openai': ({ error }) => (error as { message?: unknown }).message,
  '/anthropic': ({ type, error }) => type === 'error' && (error as { message?: unknown }).message,
  '/google': ({ error }) => (error as { status?: unknown; message?: unknown }).message,
}
const ask = async (path: string, credential: string, body: string) => {
  const response = await postTo(`${gateway.url}${path}`, body, bearer(credential))
  return { status: response.status, text: await response.text() }
}
const good = JSON.stringify({ model: 'words', messages: [], max_tokens: 5 })

let customer: Customer
/** Each credential with its description and the status it must get. */
const credentials = async (): Promise<(readonly [string, string, number])[]> => {
  const now = Date.now()
  const secretOf = async (more: object = {}, account = customer.account) => {
    const secret = makeSecret('key')
    return {
      text: secret.text,
      id: await idOf(addKey({ account, name: 'k', secret, ...more }, now)),
    }
  }
  const sue = await idOf(createAccount({ name: 'sue', role: 'customer' }, now))
  const revokedKey = await secretOf()
  await database.write(revoke('key', revokedKey.id, now))
  const expiredKey = await secretOf({ expires: now - 1 })
  const suspendedKey = await secretOf({}, sue)
  await database.write(suspendAccount(sue, now))
  return [
    ['unknown', makeSecret('key').text, 401],
    ['revoked', revokedKey.text, 401],
    ['expired', expiredKey.text, 401],
    ['of a suspended account', suspendedKey.text, 403],
    ['a system token', makeSecret('system-token').text, 401],
    ['SQL', "sk-'||(SELECT(digest)FROM(api_keys))||'", 401],
    ['SQL that ends a statement', "sk-x';DROP/**/TABLE/**/charges;--", 401],
    ['a valid key followed by SQL', `${customer.key}'--`, 401],
    ['very long', `sk-${'A'.repeat(4_000)}`, 401],
    ['a number', '1234567890', 401],
    ['its own digest', '0'.repeat(64), 401],
  ]
}

t.test('invalid credentials: refused in the dialect of the route, charged nothing', async t => {
  customer = await prepareCustomer(ROUTES, UNIT)
  const all = await credentials()
  const before = await ledgerRows()
  for (const [what, credential, status] of all)
    for (const path of PATHS) {
      const reply = await ask(path, credential, good)
      t.equal(reply.status, status, `${path}: ${what}`)
      t.type(MESSAGE_OF[path](JSON.parse(reply.text)), 'string', 'in its dialect')
      t.notOk(reply.text.includes(credential), 'the credential is not echoed')
    }
  t.same(await ledgerRows(), before, 'nothing changed')
})

/** The balance is 1: a call that needs a larger hold is refused. */
const BODIES: readonly (readonly [body: object | string, status: number])[] = [
  [{ model: "words'; DROP TABLE charges; --" }, 404],
  [{ model: "' OR 1=1 --" }, 404],
  [{ model: 7 }, 400],
  [{ model: 'words', n: 1e9 }, 403],
  [{ model: 'words', max_tokens: 10, n: 1e300 }, 400],
  [{ model: 'words', n: 101, max_tokens: 1e300 }, 403],
  ['{"model":"words","max_tokens":1e999,"n":5}', 403],
]
t.test('malformed requests: refused in the dialect of the route, charged nothing', async t => {
  const before = await ledgerRows()
  for (const [body, status] of BODIES)
    for (const path of PATHS) {
      const text = typeof body === 'string' ? body : JSON.stringify({ messages: [], ...body })
      const reply = await ask(path, customer.key, text)
      t.equal(reply.status, status, `${path}: ${text}: ${reply.text}`)
      t.type(MESSAGE_OF[path](JSON.parse(reply.text)), 'string', 'in its dialect')
    }
  t.same(await ledgerRows(), before, 'nothing changed')
})

t.test(
  'invalid output limits: the hold covers the model’s limit and is never negative',
  async t => {
    const usage = { prompt_tokens: 1, completion_tokens: 1 }
    const answer = JSON.stringify({ id: 'x', choices: [{ finish_reason: 'stop' }], usage })
    const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${answer.length}\r\n\r\n`
    await upstream.script('chat', [{ do: 'send', bytes: head + answer }])
    const charges = 'SELECT held, amount FROM charges ORDER BY opened'
    for (const amount of ['-5', '-1e300', '0.5', '"5"', 'null', 'true', '[]', '{"$gt":0}']) {
      const { length } = await rows(charges)
      const body = `{"model":"words","messages":[],"max_tokens":${amount},"n":${amount}}`
      const { status } = await ask('/openai', customer.key, body)
      t.ok([200, 400, 403].includes(status), `${amount}: ${status}`)
      for (const row of (await rows(charges)).slice(length))
        t.ok(Number(row.amount) >= 0 && Number(row.held) >= Number(row.amount), amount)
    }
    const [wallet] = await rows(`SELECT balance, used FROM wallets WHERE id = ${customer.wallet}`)
    t.equal(Number(wallet?.balance) + Number(wallet?.used), 1e9)
  },
)
