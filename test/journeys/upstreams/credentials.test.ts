/** Real processes before upstreams that verify signatures and tokens: paid calls, token requests of
 *  two workers, and an identity service that is down and costs nobody anything. */
import t from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey, createAccount } from '../../../plugins/credentials/statements.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { walletOf } from '../../../plugins/ledger/wallet.ts'
import { expectedAuthorization, ID, SECRET } from '../../helpers/gateway/aws-signature.ts'
import {
  CLIENT,
  type Listener,
  SERVER,
  startHttp2,
  startProxy,
} from '../../helpers/gateway/connections.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { chatAnswer } from '../../helpers/gateway/metered.ts'
import { bearer, postChat } from '../../helpers/gateway/post.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'
import { sql } from '../../helpers/store/store.ts'

const identity = { requests: 0, isDown: true }
const authority = await startHttpUpstream(t, (_, response) => {
  identity.requests++
  if (identity.isDown) return void response.writeHead(503).end()
  response.end(JSON.stringify({ access_token: 'the-token', expires_in: 3_600 }))
})
/** Answers calls that carry a valid credential. */
const answer: Listener = async (incoming, response) => {
  const parts: Uint8Array[] = []
  for await (const part of incoming) parts.push(part)
  const { authorization } = incoming.headers
  const isSigned = () =>
    'stream' in incoming || authorization === expectedAuthorization(incoming, Buffer.concat(parts))
  const isValid = authorization?.startsWith('AWS4')
    ? isSigned()
    : authorization === 'Bearer the-token'
  response.writeHead(isValid ? 200 : 403, { 'content-type': 'application/json' })
  response.end(JSON.stringify(isValid ? chatAnswer() : { error: { message: 'wrong' } }))
}
const url = await startHttpUpstream(t, answer)
const inside = await startHttp2(t, answer)
const proxy = await startProxy(t)
const AZURE = `azure: { tenant: t, client: c, secret: s, authority: '${authority}' }`
const upstreams = [
  `aws: { url: '${url}', auth: { aws: { region: eu-west-1, service: bedrock, id: ${ID}, secret: ${SECRET} } } }`,
  `azure: { url: '${url}', auth: { ${AZURE} } }`,
  `inside: { url: '${inside}', proxy: '${proxy.url}', http2: true, tls: { ca: '\${file:ca.pem}', cert: '\${file:us.pem}', key: '\${file:us.key}' }, auth: { ${AZURE} } }`,
]
const names = ['aws', 'azure', 'inside']
const ROUTES = `
pipeline: [errors, auth, model, meter, translate]
upstreams:
${upstreams.map(each => `  ${each}\n`).join('')}
models:
${names.map(name => `  ${name}: { to: ${name}/m, price: { input: '0.000001', output: '0.000002' } }\n`).join('')}
routes:
  - { path: POST /v1/chat/completions, name: chat, auth: [key], model: body, translate: openai-chat }
`
const gateway = await startGateway({
  routes: ROUTES,
  files: { 'ca.pem': SERVER.cert, 'us.pem': CLIENT.cert, 'us.key': CLIENT.key },
  env: { WORKERS: '2' },
})
t.teardown(() => gateway.stop())
const database = await openDatabase({ url: 'sqlite:', data: gateway.data, writeTimeout: 60_000 })
t.teardown(() => database.close())
const key = makeSecret('key')
const now = Date.now()
const rows = await database.write(createAccount({ name: 'ann', role: 'customer' }, now))
const account = Number(rows.at(-1)?.[0]?.id)
await database.write([
  ...addKey({ account, name: 'key', secret: key }, now),
  openWallet(walletOf.account(account), 0n),
  addCredit({ account, kind: 'credit', amount: 10n ** 12n, note: 'test', at: now }),
])
const read = async (text: string): Promise<bigint> =>
  BigInt((await database.read(sql(text, text), []))[0]?.value as number)
const balance = () =>
  read(`SELECT balance AS value FROM wallets WHERE id = ${walletOf.account(account)}`)

const call = async (model: string): Promise<number> => {
  const response = await postChat(gateway.url, model, bearer(key.text))
  await response.text()
  return response.status
}

t.test('credentials: a call without a token is not sent and costs nothing', async t => {
  const before = await balance()
  t.equal(await call('azure'), 502)
  t.equal(await balance(), before)
  t.equal(await read("SELECT count(*) AS value FROM charges WHERE state = 'open'"), 0n)
})

t.test('credentials: signed calls are answered and paid, 50 at once', async t => {
  identity.isDown = false
  // A worker pauses for a second after a failed token request.
  while ((await call('azure')) !== 200) await new Promise(resolve => setTimeout(resolve, 50))
  const before = await balance()
  identity.requests = 0
  for (const name of names) {
    const statuses = await Promise.all(Array.from({ length: 50 }, () => call(name)))
    t.same(new Set(statuses), new Set([200]), name)
  }
  // Each worker has a token for each of two upstreams.
  t.ok(identity.requests <= 4, `${identity.requests} token requests`)
  t.ok(proxy.tunnels.length >= 1)
  t.equal(before - (await balance()), 150n * 20_000n)
})

t.test('credentials: a reload keeps the tokens', async t => {
  await gateway.reload(ROUTES.replace('name: chat', 'name: talk'))
  const before = await balance()
  const statuses = await Promise.all(names.flatMap(name => [call(name), call(name)]))
  t.same(new Set(statuses), new Set([200]))
  t.ok(identity.requests <= 4, `${identity.requests} token requests so far`)
  t.equal(before - (await balance()), 6n * 20_000n)
  const routes = await database.read(sql('routes', 'SELECT DISTINCT route FROM charges'), [])
  t.same(routes.map(({ route }) => route).sort(), ['chat', 'talk'])
})
