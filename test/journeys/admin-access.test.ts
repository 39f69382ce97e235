/** Who may call the admin listener: every endpoint, over TCP without and with credentials, and over
 *  the socket; docs/security.md says the same. */
import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { adminSocketOf } from '../../engine/processes/admin-socket.ts'
import { findRunning } from '../../engine/processes/running-gateway.ts'
import { OPERATIONS } from '../../plugins/operator/table.ts'
import { startConsole } from '../helpers/console/console-gateway.ts'
import { tollgate } from '../helpers/gateway/command-line.ts'
import { eventually } from '../helpers/gateway/primary.ts'

const gateway = await startConsole(t)
const bearer = (text: string) => ({ authorization: `Bearer ${text}` })
const ask = async (name: string, headers: Record<string, string> = {}, fields?: object) => {
  const [method = '', path = ''] = name.split(' ')
  const body = method === 'GET' ? undefined : fields
  const response = await fetch(gateway.admin + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, text, headers: response.headers }
}
const { endpoints } = (await (await gateway.askAdmin('/-/')).json()) as {
  readonly endpoints: readonly string[]
}
const OPEN = ['GET /-/health', 'GET /-/ready', 'GET /metrics']

t.test(
  'admin listener: without a credential every endpoint but health and metrics is 401',
  async t => {
    t.ok(endpoints.length > 40, 'those of plugins, too')
    t.ok(endpoints.includes('POST /-/admin/accounts/credit'))
    for (const name of endpoints) {
      const { status, text, headers } = await ask(name)
      t.equal(status, OPEN.includes(name) ? 200 : 401, name)
      if (status === 200) continue
      t.match(JSON.parse(text).error.message, /credential of an operator/)
      t.equal(headers.get('www-authenticate'), 'Bearer')
    }
    for (const name of ['GET /-/nothing', 'PUT /-/reload', 'DELETE /-/admin/accounts', 'GET /'])
      t.equal((await ask(name)).status, 401, `${name} tells no names of endpoints`)
  },
)

t.test('admin listener: what is not a system token of an operator is refused', async t => {
  await gateway.customer('ann')
  const { out } = await tollgate(['keys', 'create', 'ann', '--system', '--json'], {
    TOLLGATE_DATA: gateway.data,
  })
  const customer = /st-\w+/.exec(out)?.[0] ?? ''
  t.ok(customer, out)
  const { cookie } = await gateway.signIn({ token: gateway.token })
  const credentials: readonly (readonly [Record<string, string>, number])[] = [
    [bearer(gateway.apiKey), 401],
    [bearer(customer), 403],
    [bearer(`${gateway.token.slice(0, -1)}${gateway.token.endsWith('x') ? 'y' : 'x'}`), 401],
    [bearer(''), 401],
    [{ authorization: gateway.token }, 401],
    [{ authorization: `Basic ${btoa(`admin:${gateway.token}`)}` }, 401],
    [{ 'x-api-key': gateway.token }, 401],
    [{ cookie }, 401],
  ]
  for (const name of ['POST /-/reload', 'GET /-/config', 'POST /-/admin/accounts/credit'])
    for (const [headers, status] of credentials)
      t.equal((await ask(name, headers, { account: 'ann', amount: '5' })).status, status, name)
  const { out: account } = await tollgate(['accounts', 'show', 'ann', '--json'], {
    TOLLGATE_DATA: gateway.data,
  })
  t.equal(Number(JSON.parse(account).balance), 0)
})

t.test('admin listener: the system token of an operator opens all, and is named', async t => {
  const headers = bearer(gateway.token)
  t.match(await ask('GET /-/', headers), { status: 200, text: /GET \/-\/config/ })
  t.match(await ask('GET /-/config', headers), { status: 200, text: /"version":1/ })
  t.match(await ask('GET /-/nothing', headers), { status: 404, text: /try GET/ })
  t.match(await ask('POST /-/reload', headers), { status: 200, text: /unchanged/ })
  const credit = { account: 'ann', amount: '5' }
  t.equal((await ask('POST /-/admin/accounts/credit', headers, credit)).status, 200)
  const lines = await eventually(() => {
    const lines = gateway
      .output()
      .split('\n')
      .filter(line => /"actor":"admin"/.test(line))
    return lines.some(line => line.includes('"POST accounts/credit"')) ? lines : undefined
  })
  t.match(lines.join('\n'), /"change":"reload"/)
  const self = await ask('POST /-/admin/accounts/suspend', headers, { account: 'admin' })
  t.notSame(self.status, 200, 'an operator cannot suspend the own account')
  const foreign = { ...headers, origin: 'http://evil.example' }
  t.equal((await ask('POST /-/reload', foreign)).status, 403)
})

t.test('admin listener: a revoked token is refused within a second', async t => {
  const env = { TOLLGATE_DATA: gateway.data }
  const { out } = await tollgate(['keys', 'create', 'admin', '--system', '--json'], env)
  const { id, token = /st-\w+/.exec(out)?.[0] } = JSON.parse(out)
  t.equal((await ask('GET /-/config', bearer(token))).status, 200)
  await tollgate(['keys', 'revoke', String(id), '--system'], env)
  await eventually(async () => (await ask('GET /-/config', bearer(token))).status === 401)
})

t.test('admin listener: its socket is for the user of the gateway', async t => {
  const running = findRunning(gateway.data)
  t.equal(running?.socket, adminSocketOf(gateway.data))
  t.equal(statSync(running?.socket ?? '').mode & 0o777, 0o600)
  t.equal((await gateway.askAdmin('/-/config')).status, 200)
})

t.test('admin listener: guesses end as at routes, with 429', async t => {
  const guess = (number: number) =>
    ask(
      'POST /-/reload',
      bearer(`${gateway.token.slice(0, 40)}${String(number).padStart(12, '0')}`),
    )
  const statuses = new Set<number>()
  for (let round = 0; round < 30 && !statuses.has(429); round++)
    for (const { status } of await Promise.all(
      Array.from({ length: 20 }, (_, at) => guess(round * 20 + at)),
    ))
      statuses.add(status)
  t.same(statuses, new Set([401, 429]))
  t.equal((await ask('GET /-/config', bearer(gateway.token))).status, 200, 'a known token works')
})

const PROGRAM = fileURLToPath(new URL('../../engine/bin.cjs', import.meta.url))
t.test(
  'commands: say what another user of the machine can do',
  { skip: process.getuid?.() !== 0 && 'only root can become another user' },
  async t => {
    const other = { uid: 65534, gid: 65534 }
    const env = { PATH: process.env.PATH, TOLLGATE_DATA: gateway.data }
    const readable = spawnSync(process.execPath, ['--version'], { ...other, cwd: '/' }).status === 0
    if (!readable) return t.comment('the program is not readable for other users here')
    const as = (...args: string[]) => {
      const command = [PROGRAM, ...args, '--config', '/no.yaml']
      return spawnSync(process.execPath, command, { ...other, env, cwd: '/', encoding: 'utf8' })
    }
    const mode = statSync(gateway.data).mode & 0o777
    chmodSync(dirname(gateway.data), 0o755)
    t.teardown(() => chmodSync(gateway.data, mode))
    for (const [bits, text] of [
      [0o755, /may not read the data folder.*run the command as the user of the gateway/],
      [0o700, /may not read the data folder/],
    ] as const) {
      chmodSync(gateway.data, bits)
      for (const command of ['status', 'reload', 'rollback']) {
        const { status, stderr } = as(command)
        t.match({ status, stderr }, { status: 3, stderr: text }, command)
      }
    }
  },
)

t.test('metrics: with settings.metrics_key they need it over TCP', async t => {
  const token = 'a-token-for-prometheus'
  const own = await startConsole(t, {
    env: { METRICS_KEY: token },
  })
  const get = async (headers: Record<string, string> = {}) =>
    (await fetch(`${own.admin}/metrics`, { headers })).status
  t.equal(await get(), 401)
  t.equal(await get(bearer('a-token-for-prometheuS')), 401)
  t.equal(await get(bearer(token)), 200)
  t.equal(await get(bearer(own.token)), 200, 'an operator may read them, too')
  t.equal((await own.askAdmin('/metrics')).status, 200)
  for (const path of ['/-/health', '/-/ready']) t.equal((await fetch(own.admin + path)).status, 200)
  const reload = { method: 'POST', headers: bearer(token) }
  t.equal((await fetch(`${own.admin}/-/reload`, reload)).status, 401, 'it opens nothing else')
  t.notOk(own.output().includes(token))
})

t.test('check: an admin listener for other machines needs a token for metrics', async t => {
  const checkWith = async (admin: string, token = '') => {
    const folder = t.testdir({
      'routes.yaml': `settings:\n  admin: '${admin}'\n  metrics_key: '${token}'\nroutes: []\n`,
    })
    return tollgate(['check', '-c', join(folder, 'routes.yaml')], { TOLLGATE_DATA: `${folder}/no` })
  }
  const long = 'sixteen-characters'
  for (const address of ['0.0.0.0:9090', ':9090', '[::]:9090', '10.0.0.7:9090', 'gateway:9090']) {
    const { code, out, err } = await checkWith(address)
    t.equal(code, 1, address)
    t.match(out + err, /routes\.yaml:2:10 {2}METRICS_KEY {2}.*settings\.metrics_key/, address)
    t.equal((await checkWith(address, long)).code, 0, address)
  }
  for (const address of ['127.0.0.1:9090', '[::1]:9090', 'localhost:9090', '127.1.2.3:9090'])
    t.equal((await checkWith(address)).code, 0, address)
  t.equal((await checkWith('0.0.0.0:9090', 'short')).code, 1)
})

t.test('docs/security.md: its table of the admin listener names every endpoint', async t => {
  const page = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8')
  const section = page.split('## The admin listener')[1]?.split('\n## ')[0] ?? ''
  const rows = [...section.matchAll(/^\| `([A-Z]+ \/[^`]*)` \| ([^|]+) \|/gm)].map(
    ([, name = '', access = '']) => [name, access.trim()] as const,
  )
  const earlier = OPERATIONS.map(each => each.earlier?.replace(' ', ' /-/admin/'))
  const named = endpoints.filter(name => !earlier.includes(name))
  t.same(rows.map(([name]) => name).sort(), named.toSorted(), 'else: npm run docs')
  const open = { 'GET /-/health': 'everyone', 'GET /-/ready': 'everyone' }
  const words: Readonly<Record<string, string>> = { ...open, 'GET /metrics': 'metrics key' }
  for (const [name, access] of rows) t.equal(access, words[name] ?? 'operator', name)
})
