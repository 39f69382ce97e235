/** The log of actions of a whole gateway: sign-ins, reads of prompts and of secrets, versions of
 *  the configuration, commands; calls make no row. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import t from 'tap'
import type { ActionView } from '../../../plugins/views.ts'
import { signatureHeaders } from '../../../plugins/webhooks/signature.ts'
import {
  OPERATOR_ROUTES,
  SESSION_SCHEMA,
  startConsole,
} from '../../helpers/console/console-gateway.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'

const SECRET = `whsec_${Buffer.alloc(32, 'heads').toString('base64')}`
const received: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = []
const receiver = await startHttpUpstream(t, async (request, response) => {
  received.push({ headers: request.headers, body: await textOf(request) })
  response.end()
})
const gateway = await startConsole(t, {
  settings: 'public_url: http://127.0.0.1',
  files: { ...SESSION_SCHEMA },
  env: { HEADS: `${receiver}/heads` },
  routes: `
pipeline: [errors, observe, auth, validate, meter, account, console]
console: { edit: true, traces: 'https://traces.example/t/{trace}?from=tollgate' }
actions: { publish: { every: 1, webhook: '\${HEADS}', secret: ${SECRET} } }
routes:
  - { path: GET /api/user/info, auth: key, account: info }
  - { path: DELETE /api/session, auth: session, console: sign-out, errors: envelope }
${OPERATOR_ROUTES}`,
})
const operator = await gateway.signIn({ token: gateway.token })
const file = join(dirname(gateway.data), 'routes.yaml')
const actions = async (query = '') => {
  const { body } = await operator.ask('GET', `/api/admin/actions?limit=1000${query}`)
  return body.data as unknown as readonly ActionView[]
}
const named = async (name: string) =>
  (await actions()).filter(({ operation }) => operation === name)

t.test('sign-in: of an operator is recorded, and those that are refused', async t => {
  const [accepted] = await named('sign-in accepted')
  t.match(accepted, {
    actor: 'admin',
    via: 'sign-in',
    account: 1,
    address: '127.0.0.1',
    request: /^req_/,
    object: 'account 1',
  })
  const unknown = `${gateway.token.slice(0, -4)}AAAA`
  for (const credential of [{ token: unknown }, { link: 'sl-x' }, { token: gateway.apiKey }])
    t.equal((await gateway.ask('POST', '/api/session', credential)).status, 401)
  const refused = await named('sign-in refused')
  t.same(
    refused.map(({ after }) => after),
    [{ reason: 'SIGN_IN_KEY' }, { reason: 'SIGN_IN_LINK' }, { reason: 'SIGN_IN_TOKEN' }],
  )
  t.match(refused[0], { actor: 'unknown', address: '127.0.0.1', object: 'the console' })
})

t.test('sign-out: of an operator is recorded, and its session has ended', async t => {
  const leaving = await gateway.signIn({ token: gateway.token })
  t.equal((await leaving.ask('DELETE', '/api/session')).status, 200)
  t.match(await named('sign-out'), [
    { actor: 'admin', via: 'sign-in', object: /^session \d+$/, address: '127.0.0.1' },
  ])
  await eventually(async () => (await leaving.ask('GET', '/api/admin/accounts')).status === 401)
})

t.test('changes: have the session, the address and the request of the operator', async t => {
  const { headers } = await operator.ask('POST', '/api/admin/accounts', { name: 'ann' })
  const [row] = await named('accounts create')
  t.match(row, {
    actor: 'admin',
    via: 'admin API',
    credential: /^session \d+$/,
    address: '127.0.0.1',
    request: headers.get('x-request-id') ?? /^req_/,
    object: 'account ann',
    before: null,
    after: { name: 'ann', role: 'customer' },
  })
  const { status } = await operator.ask('POST', '/api/admin/accounts', { name: 'ann' })
  t.equal(status, 409)
  t.equal((await named('accounts create')).length, 1, 'a refused change has none')
  for (const filter of [
    'operation=accounts',
    'operation=accounts%20create',
    'object=account%20ann',
  ])
    t.equal((await actions(`&${filter}`)).length, 1, filter)
  t.equal((await actions('&to=2020-01-01')).length, 0)
  for (const filter of ['operation=%25', 'operation=accoun_s', 'operation=%2525', 'object=account'])
    t.same(await actions(`&${filter}`), [], `${filter}: no wildcard`)
  t.match((await operator.ask('GET', '/api/admin/actions?from=yesterday')).body.message, /`from`/)
})

t.test('refused credentials: at endpoints of operators and at the admin listener', async t => {
  const before = (await named('access refused')).length
  const ask = (authorization: string) =>
    gateway.ask('GET', '/api/admin/accounts', undefined, { authorization })
  const other = await gateway.customer('mallory')
  t.equal((await other.ask('GET', '/api/admin/accounts')).status, 403)
  t.equal((await ask(`Bearer ${gateway.token.slice(0, -4)}AAAA`)).status, 401)
  t.equal((await ask(`Bearer ${gateway.apiKey}`)).status, 401)
  t.equal((await gateway.ask('GET', '/api/admin/accounts')).status, 401, 'without a credential')
  const listener = await fetch(`${gateway.admin}/-/config`, {
    headers: { authorization: `Bearer ${gateway.token.slice(0, -4)}BBBB` },
  })
  t.equal(listener.status, 401)
  const rows = (await named('access refused')).toReversed().slice(before)
  t.match(rows, [
    { via: 'admin API', after: { reason: 'AUTH_ROLE' }, address: '127.0.0.1', request: /^req_/ },
    { via: 'admin API', actor: 'unknown', after: { reason: 'AUTH_UNKNOWN' } },
    { via: 'admin API', after: { reason: 'AUTH_KIND' } },
    { via: 'admin listener', after: { reason: 'AUTH_UNKNOWN' }, address: /127\.0\.0\.1/ },
  ])
  t.equal(rows.length, 4)
})

t.test('prompts and secrets: reading them makes a row before they are shown', async t => {
  for (const [path, name, object] of [
    ['requests/story?id=req_x', 'GET requests/story', 'request req_x'],
    ['editor/files', 'GET editor/files', 'the files of the configuration'],
    ['configuration/diff?from=1', 'GET configuration/diff', 'configuration 1 to files'],
  ] as const) {
    await operator.ask('GET', `/api/admin/${path}`)
    t.match(await named(name), [{ actor: 'admin', object, before: null, after: null }], path)
  }
})

t.test('calls: make no row', async t => {
  const before = (await actions()).length
  for (let call = 0; call < 20; call++) {
    const authorization = `Bearer ${gateway.apiKey}`
    const reply = await fetch(`${gateway.url}/api/user/info`, { headers: { authorization } })
    t.equal(reply.status, 200)
  }
  t.equal((await actions()).length, before)
})

t.test('story: links the trace of a request', async t => {
  const authorization = `Bearer ${gateway.apiKey}`
  const reply = await fetch(`${gateway.url}/api/user/info`, { headers: { authorization } })
  const id = reply.headers.get('x-request-id')
  const story = await eventually(async () => {
    const { body } = await operator.ask('GET', `/api/admin/requests/story?id=${id}`)
    return body.data?.request ? body.data : undefined
  })
  t.match(story.trace_url, /^https:\/\/traces\.example\/t\/[0-9a-f]{32}\?from=tollgate$/)
})

t.test('configuration: each version that goes live is a row with its changes', async t => {
  const live = () => named('configuration live')
  t.match(await eventually(async () => ((await live()).length === 1 ? live() : undefined)), [
    {
      actor: 'gateway',
      via: 'gateway',
      object: 'configuration 1',
      before: null,
      after: { version: 1 },
    },
  ])
  const text = readFileSync(file, 'utf8')
  const changed = `${text}  - { path: GET /api/other, auth: key, account: balance }\n`
  const secret = 'a-password-in-plain-text-1'
  const added = `upstreams: { up: { url: 'https://u:pass-word@up.example', key: '${secret}' } }\n`
  writeFileSync(file, changed.replace('pipeline:', `${added}pipeline:`))
  const rows = await eventually(async () => {
    const all = await live()
    return all.length === 2 ? all : undefined
  })
  t.match(rows[0], { object: 'configuration 2', before: { version: 1 }, after: { version: 2 } })
  const whole = JSON.stringify(rows[0]?.after)
  t.match(whole, /GET \/api\/other/, 'the diff')
  t.match(whole, /sha256:[0-9a-f]{12}/, 'a secret is a digest')
  t.notMatch(whole, new RegExp(`${secret}|pass-word`))
  await operator.ask('POST', '/api/admin/configuration/rollback', { version: 1 })
  t.match(await named('POST configuration/rollback'), [{ actor: 'admin', before: 2 }])
  t.match(await eventually(async () => ((await live()).length === 3 ? live() : undefined)), [
    { object: 'configuration 3', after: { from: 1 } },
    {},
    {},
  ])
})

t.test('commands: have the user; the log can be verified and exported', async t => {
  const command = (...words: string[]) =>
    tollgate(words, {
      TOLLGATE_CONFIG: file,
      TOLLGATE_DATA: gateway.data,
      HEADS: 'http://127.0.0.1:1',
    })
  t.equal((await command('accounts', 'rename', 'ann', 'anna')).code, 0)
  t.match(await named('accounts rename'), [{ via: 'command line', user: /./, address: null }])
  writeFileSync(file, `${readFileSync(file, 'utf8')}# edited\n`)
  const reloaded = await command('reload')
  t.equal(reloaded.code, 0, reloaded.err)
  t.equal((await command('rollback')).code, 0)
  const versions = await eventually(async () => {
    const live = await named('configuration live')
    // The reload has a row before it.
    const isRollback = JSON.stringify(live[0]?.after).includes('"from"')
    return isRollback && live[0]?.via === 'command line' ? live : undefined
  })
  t.match(versions[0], { actor: 'command line', user: userInfo().username, after: { from: /./ } })
  await eventually(() => existsSync(join(gateway.data, 'actions/heads')))
  const verified = await command('actions', 'verify')
  t.match(verified, { code: 0, out: /compared with \d+ published heads\nthe log is intact/ })
  const jsonl = await command('actions', 'export', '--from', '2020-01-01')
  const rows = jsonl.out
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as ActionView)
  t.same(
    rows.map(({ seq }) => seq),
    rows.map((_, at) => at + 1),
  )
  const cef = await command('actions', 'export', '--format', 'cef')
  t.match(
    cef.out.split('\n')[0],
    /^CEF:0\|Tollgate\|Tollgate\|1\|[\w -]+\|[\w -]+\|3\|rt=\d+ externalId=1 suser=/,
  )
  t.match(await command('actions', 'export', '--format', 'xml'), { code: 2, err: /jsonl, cef/ })
  t.match(await command('actions', 'verify', '--heads', '/nowhere'), { code: 2, err: /ENOENT/ })
  t.match((await command('actions', 'list', '--operation', 'accounts')).out, /accounts rename/)
})

t.test('heads: are published to the log, the file and the webhook', async t => {
  const [last] = await actions()
  const heads = readFileSync(join(gateway.data, 'actions/heads'), 'utf8')
  const { headers, body = '' } = await eventually(() => received[0])
  const head = JSON.parse(body) as { readonly data: { readonly seq: number; readonly mac: string } }
  t.match(head, { topic: 'actions.head', data: { seq: Number, mac: /^[\w-]{43}$/ } })
  t.ok(heads.includes(head.data.mac))
  const signed = signatureHeaders({
    id: String(headers['webhook-id']),
    body,
    secret: SECRET,
    at: Number(headers['webhook-timestamp']) * 1_000,
  })
  t.equal(headers['webhook-signature'], signed['webhook-signature'])
  t.match(gateway.output(), /head of the log of actions/)
  t.ok((last?.seq ?? 0) >= head.data.seq)
})
