/** A customer's webhook from its setup to its removal, over the shipped routes, with real processes
 *  and a real receiver. */
import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { type OpenDatabase, openDatabase } from '../../../engine/store/database.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addToken, createAccount } from '../../../plugins/credentials/statements.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { walletOf } from '../../../plugins/ledger/wallet.ts'
import { withOutput } from '../../helpers/gateway/command-line.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { AUTHORITY, ok, startReceiver, status } from '../../helpers/money/receiver.ts'

let answer = ok
const receiver = await startReceiver(t, (...all) => answer(...all))
const gateway = await startGateway({
  env: { EGRESS_ALLOW: `127.0.0.1:${receiver.port}`, NODE_EXTRA_CA_CERTS: AUTHORITY },
})
t.teardown(() => gateway.stop())
const key = await gateway.key()
/** A customer's token, because the first admin's must not affect these tests. */
const secret = makeSecret('system-token')
const token = secret.text
const account = await inStore(async database => {
  const now = Date.now()
  const rows = await database.write(createAccount({ name: 'ann', role: 'customer' }, now))
  const id = Number(rows.at(-1)?.[0]?.id)
  await database.write(addToken({ account: id, name: 'test', secret }, now))
  return id
})
const url = `${receiver.origin}/hook?token=t0ken%2Fof-theirs`

interface Reply {
  readonly success: boolean
  readonly message: string
  readonly data: Record<string, never>
}
const ask = async (method: string, path = '', body?: unknown, credential = token) => {
  const response = await fetch(`${gateway.url}/api/notifications${path}`, {
    method,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${credential}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: response.status, ...((await response.json()) as Reply) }
}
const credit = (amount: bigint): Promise<void> =>
  inStore(async database => {
    await database.write([
      openWallet(walletOf.account(account), 0n),
      addCredit({ account, kind: 'credit', amount, note: 'test', at: Date.now() }),
    ])
  })
async function inStore<T>(use: (database: OpenDatabase) => Promise<T>): Promise<T> {
  const database = await openDatabase({ url: 'sqlite:', data: gateway.data, writeTimeout: 60_000 })
  try {
    return await use(database)
  } finally {
    await database.close()
  }
}

t.test('notifications: refuse API keys and unknown tokens', async t => {
  t.match(await ask('GET', '', undefined, key), {
    status: 401,
    success: false,
    message: /system token/,
  })
  t.match(await ask('PUT', '', { url }, 'st-nobody'), { status: 401, success: false })
})

t.test('notifications: refuse invalid settings', async t => {
  const emptySettings = { url: null, threshold: null, secret: null, disabled: null, deliveries: [] }
  t.match(await ask('GET'), { status: 200, success: true, message: '', data: emptySettings })
  for (const [body, message] of [
    [{ url: 'http://example.com/' }, /the scheme must be https/],
    [{ url: 'https://169.254.169.254/latest/meta-data' }, /not a public address/],
    [{ url: 'https://localhost/' }, /not a public address/],
    [{ url: 'https://127.0.0.1:1/' }, /not a public address/],
    [{ url: 5 }, /url/],
    [{ treshold: 5 }, /Unknown parameter: 'treshold'/],
    [{ url, threshold: -1 }, /negative/],
    [{ url, secret: 'short' }, /whsec_/],
    [[], /object/],
  ] as const)
    t.match(await ask('PUT', '', body), { status: 400, success: false, message })
  t.match(await ask('POST', '/test'), { status: 409, success: false, message: /save one first/ })
  t.match((await ask('GET')).data, emptySettings)
})

t.test(
  'notifications: a saved webhook gets a test event and a low-balance event, both signed',
  async t => {
    await credit(10_000_000_000n)
    const { data: settings } = await ask('PUT', '', { url, threshold: 5.5 })
    t.match(settings, { url, threshold: 5.5, secret: /^whsec_.{40,}$/, disabled: null })
    const secret = String(settings.secret)
    t.match((await ask('GET')).data, { url, secret: `whsec_…${secret.slice(-4)}` })

    t.match(await ask('POST', '/test'), {
      status: 200,
      success: true,
      data: { state: 'delivered', status: 200 },
    })
    await credit(-6_000_000_000n)
    await receiver.until(2)
    const [test, event] = receiver.received
    t.equal(test?.body, '{"topic":"user_quota_too_low","data":{"quota":10}}')
    t.equal(event?.body, '{"topic":"user_quota_too_low","data":{"quota":4}}')
    for (const { url, headers, body, method } of receiver.received) {
      t.equal(`${method} ${url}`, 'POST /hook?token=t0ken%2Fof-theirs')
      t.equal(headers['content-type'], 'application/json')
      new Webhook(secret).verify(body, headers)
      const plain = createHmac('sha256', secret).update(body).digest('hex')
      t.equal(headers['x-webhook-signature'], plain)
    }
  },
)

t.test('notifications: a failed test delivery reports its reason and is not repeated', async t => {
  for (const [code, message] of [
    [500, /answered 500/],
    [302, /redirect/],
  ] as const) {
    answer = status(code, { location: 'https://169.254.169.254/' })
    const reply = await ask('POST', '/test')
    t.match(reply, {
      status: 200,
      success: false,
      message,
      data: { state: 'failed', status: code },
    })
  }
  answer = status(410)
  t.match(await ask('POST', '/test'), { success: false, message: /saved again/ })
  t.match(await ask('POST', '/test'), { status: 409 })
  t.type((await ask('GET')).data.disabled, 'string')
  answer = ok
  t.match((await ask('PUT', '', { url })).data, { disabled: null })
})

/** Runs the command line beside the gateway. */
const runWebhooks = async (t: Test, ...argv: string[]) => {
  const env = {
    ...(process.env as Record<string, string>),
    TOLLGATE_CONFIG: join(import.meta.dirname, '../../../routes.yaml'),
    TOLLGATE_DATA: gateway.data,
  }
  const { code, out, err } = await withOutput(t, ['webhooks', ...argv], env)
  return { code, out, text: out + err }
}

t.test('webhooks command: lists and replays deliveries without secrets', async t => {
  const listing = await runWebhooks(t, 'list', '--json')
  const [newest, ...others] = JSON.parse(listing.out)
  t.match(newest, { state: 'failed', account, receiver: `127.0.0.1:${receiver.port}` })
  t.equal(others.length, 4)
  const before = receiver.received.length
  t.match(await runWebhooks(t, 'replay', newest.id), { code: 0, text: newest.id })
  await receiver.until(before + 1)
  t.equal(receiver.received.at(-1)?.headers['webhook-id'], newest.id, 'the same event')
  const failures = await runWebhooks(t, 'list', '--state', 'failed')
  t.equal(failures.out.trim().split('\n').length, 3)
  for (const [argv, code, text] of [
    [['replay', 'msg_nobody'], 3, /Unknown event "msg_nobody"/],
    [['replay'], 2, /replay ID/],
    [['list', 'x'], 2, /^Usage: tollgate webhooks list/m],
    [['list', '--state', 'x'], 2, /pending, delivered, failed/],
    [['burn'], 2, /tollgate webhooks list .*\n +tollgate webhooks replay ID/],
  ] as const)
    t.match(await runWebhooks(t, ...argv), { code, text }, argv.join(' '))
  await ask('PUT', '', { url: null })
  t.match(await runWebhooks(t, 'replay', newest.id), { code: 3, text: /has no receiver/ })
  t.notMatch(listing.text + failures.text, /t0ken|whsec_/)
})

t.test('notifications: logs and metrics contain no secrets', async t => {
  const metrics = await (await fetch(`${gateway.admin}/metrics`)).text()
  t.match(metrics, /tollgate_webhook_attempts_total\{outcome="delivered"\} [3-9]/)
  t.match(metrics, /tollgate_webhook_events_total 1/)
  t.match(gateway.output(), /"outcome":"delivered"/)
  t.notMatch(gateway.output() + metrics, /t0ken|whsec_/)
})
