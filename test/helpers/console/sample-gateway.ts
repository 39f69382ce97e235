/** The shipped gateway with data of every kind that the console shows: accounts in each state,
 *  keys, calls that succeed and fail, tasks, files, a batch, deliveries, versions and a failed
 *  reload. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { eventually } from '../gateway/primary.ts'
import { AUTHORITY, type Receiver, startReceiver, status } from '../money/receiver.ts'
import { type ConsoleClient, type ConsoleGateway, startConsole } from './console-gateway.ts'

export interface SampleGateway extends Omit<ConsoleGateway, 'customer'> {
  readonly operator: ConsoleClient
  /** A customer with data of every kind, and one without any. */
  readonly customer: ConsoleClient
  readonly newcomer: ConsoleClient
  readonly call: string
  readonly failedCall: string
  readonly task: string
  /** The webhooks of `customer`, and of the account `hooks`, which refuses all. */
  readonly receivers: readonly Receiver[]
}

const ROOT = join(import.meta.dirname, '../../..')
const LONG_NAME = 'Northwind Research and Development, Machine Learning Department'.replace(',', '')
const LONG_KEY = 'continuous-integration-of-the-recommendation-service-eu-west-1'
const MODELS = ['gp-4.1', 'cl-haiku-4-5', 'gx-2.5-flash']
const CALLED = [...MODELS, 'gp-4.1-mini', 'gp-4o', 'cl-sonnet-4-5', 'gx-2.5-pro', 'gp-4o-mini']
/** Text beside routes.yaml that gives every reload something to change. */
const NOTE = 'notes.yaml'

const shippedFiles = (): Record<string, string> => {
  const names = ['schemas', 'models'].flatMap(folder =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => /\.(?:json|yaml)$/.test(name))
      .map(name => join(folder, name)),
  )
  return Object.fromEntries(names.map(name => [name, readFileSync(join(ROOT, name), 'utf8')]))
}
/** The shipped routes, whose editor is on. */
const shippedRoutes = (receiver: string) => {
  const [, settings = '', rest = ''] =
    /^settings:\n((?: .*\n)+)([\s\S]*)/m.exec(readFileSync(join(ROOT, 'routes.yaml'), 'utf8')) ?? []
  return {
    settings: settings
      .split('\n')
      .filter(line => /^ {2}(?:public_url|egress_allow|files|batch|currency):/.test(line))
      .map(line => line.trim())
      .join('\n'),
    routes: `console: { edit: true, traces: 'https://traces.example/{trace}' }\n${alertsTo(receiver)}${rest.replace('models/*.yaml', `models/*.yaml, ${NOTE}`)}`,
  }
}

const alertsTo = (receiver: string): string => `alerts:
  to: [{ kind: slack, url: '${receiver}/alerts' }, { kind: wecom, url: '${receiver}/refused' }]
  every: 500ms
  quiet: { from: '22:00', to: '07:00', zone: Europe/Berlin, except: [uncollected] }
  rules: { p99: false }
plans: { pro: { amount: 5, per: month, models: [gp-4.1] }, max: { amount: 9, per: month, price: 2 }, words: { tokens: 500_000, per: month, price: 1 } }
budgets:
  monthly: { of: account, amount: 2000, per: month, zone: Europe/Berlin }
  continuous-integration-of-the-recommendation-service: { of: account, amount: 0.000001, per: life, shadow: true }
  each: { of: key, amount: 50, per: week }
`

/** A query whose answer costs more than twice its hold. */
const COSTLY = 'everything about tea'
const COSTLY_ANSWER = {
  id: 'rerank-1',
  results: [{ index: 0, relevance_score: 0.9 }],
  meta: { billed_units: { search_units: 5_000 } },
}
/** An upstream that fails: an answer for each path, or none. */
const startFaultyUpstream = async (t: Pick<Test, 'teardown'>): Promise<string> => {
  const server = createServer(async (request, response) => {
    // The gateway cannot know whether this task was created.
    if (request.url?.startsWith('/mj')) return void request.socket.destroy()
    if (request.url === '/alerts') return void response.end('ok')
    const isCostly = (await text(request)).includes(COSTLY)
    const message = 'The model is overloaded: try again in a few seconds, or ask for less.'
    response.writeHead(isCostly ? 200 : 503, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isCostly ? COSTLY_ANSWER : { message }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export const startSample = async (t: Pick<Test, 'teardown'>): Promise<SampleGateway> => {
  const receivers = [await startReceiver(t), await startReceiver(t, status(500))]
  const faulty = await startFaultyUpstream(t)
  const gateway = await startConsole(t, {
    ...shippedRoutes(faulty),
    files: { ...shippedFiles(), [NOTE]: '# first\nroutes: []\n' },
    env: {
      EGRESS_ALLOW: receivers.map(({ port }) => `127.0.0.1:${port}`).join(),
      NODE_EXTRA_CA_CERTS: AUTHORITY,
      MIDJOURNEY_BASE_URL: faulty,
      MIDJOURNEY_API_KEY: 'sample',
      COHERE_BASE_URL: faulty,
      COHERE_API_KEY: 'sample',
    },
  })
  const operator = await gateway.signIn({ token: gateway.token })
  const admin = (path: string, body: object) => operator.ask('POST', `/api/admin/${path}`, body)
  const customer = await gateway.customer('ann', 100)
  const newcomer = await gateway.customer('newcomer')
  await useTeam(customer, admin)
  await useAccounts(gateway, admin)
  const ids = await useAccount(gateway, customer)
  for (const [index, { origin }] of receivers.entries())
    await saveWebhook(index === 0 ? customer : await gateway.customer('hooks', 1), origin)
  await useUncollected(gateway)
  await useConfiguration(gateway, admin)
  return { ...gateway, operator, customer, newcomer, receivers, ...ids }
}

/** The options of a window with the session of a role; none: not signed in. */
export const sessionOf = (gateway: SampleGateway, role: string): { as?: ConsoleClient } =>
  role === 'operator' || role === 'customer' || role === 'newcomer' ? { as: gateway[role] } : {}

type Admin = (path: string, body: object) => Promise<unknown>
const useAccounts = async (gateway: ConsoleGateway, admin: Admin): Promise<void> => {
  for (const name of [LONG_NAME, 'bob', 'studio.example']) await admin('accounts', { name })
  await admin('accounts/credit', { account: LONG_NAME, amount: 1_234_567.891234, note: 'INV 77' })
  await admin('accounts/debit', { account: LONG_NAME, amount: 0.5, note: 'correction' })
  await admin('accounts/overdraft', { account: 'studio.example', amount: 250 })
  await admin('accounts/suspend', { account: 'bob' })
  await admin('accounts/credit', { account: 1, amount: 20 })
  const { body } = await gateway.ask('POST', '/v1/chat/completions', chatOf('gp-4.1', 'Hello'), {
    authorization: `Bearer ${gateway.apiKey}`,
  })
  if (!('choices' in body)) throw new Error(JSON.stringify(body))
}
const chatOf = (model: string, content: string) => ({
  model,
  messages: [{ role: 'user', content }],
})

/** Members in each role, one of them with a long name and a budget, and a plan. */
const useTeam = async (customer: ConsoleClient, admin: Admin): Promise<void> => {
  for (const [name, role] of [
    ['wilhelmina.von-hohenzollern-sigmaringen@research.northwind.example', 'member'],
    ['olga@northwind.example', 'owner'],
    ['adam@northwind.example', 'admin'],
    ['vera@northwind.example', 'viewer'],
  ] as const)
    await customer.ask('POST', '/api/members', { name: name.slice(0, 64), role })
  await admin('budgets/set', { account: 'ann', member: 1, name: 'seat', amount: '5', per: 'month' })
  await admin('plans/assign', { account: 'ann', plan: 'pro' })
}
/** Keys, calls, tasks, a file and a batch. */
const useAccount = async (gateway: ConsoleGateway, client: ConsoleClient) => {
  const { body: key } = await client.ask('POST', '/api/keys', { name: 'laptop', member: 1 })
  await client.ask('POST', '/api/keys', {
    name: 'ci',
    quota: 500_000,
    limits: { requests: '60/min', concurrency: 4 },
    expires: '2999-01-31',
    models: MODELS,
  })
  await client.ask('POST', '/api/keys', { name: LONG_KEY, quota: 1_000_000 })
  const { body: old } = await client.ask('POST', '/api/keys', { name: 'old laptop' })
  await client.ask('DELETE', `/api/keys/${old.data.id}`)
  await client.ask('POST', '/api/system-tokens', { name: 'script' })
  const authorization = `Bearer ${key.data.key}`
  const post = (path: string, body: unknown) => gateway.ask('POST', path, body, { authorization })
  for (let index = 0; index < 24; index++) {
    const content = 'Hello '.repeat(1 + (index % 7) * 40)
    await post('/v1/chat/completions', chatOf(CALLED[(index * 3) % CALLED.length] ?? '', content))
  }
  await addPast(gateway)
  await post('/v1/chat/completions', chatOf('no-such-model-with-a-rather-long-name-2026-11', 'Hi'))
  const rerank = { model: 'rerank-v3.5', query: 'tea', documents: ['green', 'black'] }
  const failed = await post('/v1/rerank', rerank)
  const clip = { model: 'vdq3', prompt: 'A lighthouse at dawn', duration: 1, resolution: '540p' }
  const { body: created } = await post('/ent/v2/text2video', clip)
  const task = String((created as unknown as { task_id: string }).task_id)
  await post('/mj/submit/imagine', { prompt: 'An old map of an island, ink on paper' })
  await useFiles(gateway, authorization)
  await eventually(async () => {
    const { body } = await client.ask('GET', `/api/tasks/${task}`)
    return body.data.state === 'succeeded'
  })
  const { body: usage } = await client.ask('GET', '/api/usage?limit=1&model=cl-haiku-4-5')
  return {
    task,
    call: String(usage.data[0]?.request_id),
    failedCall: failed.headers.get('x-request-id') ?? '',
  }
}
/** A call of the account `trial` that cost more than twice its hold. */
const useUncollected = async (gateway: ConsoleGateway): Promise<void> => {
  const trial = await gateway.customer('trial', 1)
  const { body: key } = await trial.ask('POST', '/api/keys', { name: 'first' })
  const body = { model: 'rerank-v3.5', query: COSTLY, documents: ['green', 'black'] }
  const headers = { authorization: `Bearer ${key.data.key}` }
  const reply = await gateway.ask('POST', '/v1/rerank', body, headers)
  if (reply.status !== 200) throw new Error(JSON.stringify(reply.body))
}
/** Adds calls of the past weeks, as copies of those of today: a closed charge does not change. */
const addPast = async ({ data }: ConsoleGateway): Promise<void> => {
  const database = await openDatabase({ url: 'sqlite:', data, writeTimeout: 60_000 })
  await database.write([
    { sql: COPIES, values: [] },
    { sql: PAID, values: [] },
  ])
  await database.close()
}
// Some days have many calls, some have none.
const COPIES = {
  name: 'sample: past calls',
  text: `WITH RECURSIVE n (day) AS (SELECT 1 UNION ALL SELECT day + 1 FROM n WHERE day < 29)
    INSERT INTO charges (request, account, key, process, route, model, version, rule, state, held, amount, usage, lines,
      opened, closed)
    SELECT printf('req_%024x%08x', day, c.rowid), account, key, process, route, model, version, rule, state, held,
      amount, usage, lines, opened - day * 86400000, closed - day * 86400000
    FROM n JOIN charges c ON c.route = 'chat' AND c.account = 2 AND (c.rowid * 7 + day * day * 5) % 11 < day * 3 % 8`,
}
const PAID = {
  name: 'sample: past calls are paid',
  text: `UPDATE wallets SET balance = balance - total, used = used + total
    FROM (SELECT account, sum(amount) AS total FROM charges WHERE opened < (
      SELECT max(opened) - 80000000 FROM charges) GROUP BY account) past
    WHERE wallets.account = past.account`,
}
const useFiles = async ({ url, ask }: ConsoleGateway, authorization: string): Promise<void> => {
  const upload = async (name: string, purpose: string, text: string) => {
    const form = new FormData()
    form.set('purpose', purpose)
    form.set('file', new Blob([text]), name)
    const options = { method: 'POST', headers: { authorization }, body: form }
    return (await (await fetch(`${url}/v1/files`, options)).json()) as { id: string }
  }
  await upload(`${LONG_KEY}-transcript.txt`, 'assistants', 'text '.repeat(9_000))
  const line = {
    custom_id: '1',
    method: 'POST',
    url: '/v1/chat/completions',
    body: chatOf('gp-4.1', 'Hello'),
  }
  const { id } = await upload('requests.jsonl', 'batch', `${JSON.stringify(line)}\n`)
  const batch = {
    input_file_id: id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  }
  await ask('POST', '/v1/batches', batch, { authorization })
}

const saveWebhook = async (client: ConsoleClient, origin: string): Promise<void> => {
  const url = `${origin}/hooks/tollgate/low-balance?token=sample`
  const saved = await client.ask('PUT', '/api/notifications', { url, threshold: 10 })
  if (saved.status !== 200) throw new Error(JSON.stringify(saved.body))
  await client.ask('POST', '/api/notifications/test', {})
}

/** Versions with differences, and a reload that failed. */
const useConfiguration = async (gateway: ConsoleGateway, admin: Admin): Promise<void> => {
  const file = join(dirname(gateway.data), NOTE)
  const reload = async (text: string) => {
    writeFileSync(file, text)
    await admin('configuration/reload', {})
  }
  await reload(
    '# second\nroutes:\n  - { path: POST /internal/chat, name: internal, model: body, errors: openai }\n',
  )
  await reload(
    '# third\nroutes:\n  - { path: POST /internal/chat, name: internal-chat, model: body, translate: openai-chat, errors: openai }\n',
  )
  await reload(
    '# fourth\nroutes:\n  - { path: POST /internal/chat, name: internal-chat, modl: body, translate: openai-chat }\n',
  )
}
