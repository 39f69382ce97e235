/** A route that requires the role `admin`: other accounts get 403 in the route's dialect, in every
 *  mode. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import auth from '../../../plugins/auth/index.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey, addToken, createAccount } from '../../../plugins/credentials/statements.ts'
import { usedFolder } from '../../helpers/cache.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { openAccounts, passThrough } from '../../helpers/store/accounts.ts'

const REFUSED = { code: 'AUTH_ROLE', status: 403 }

t.test('auth role: accepts an API key by default', async t => {
  const { account, key, token, route } = await openAccounts(t)
  const [ann, eve] = [await account('ann', 'admin'), await account('eve')]
  const admins = route({ role: 'admin' })
  const bearer = (text: string) => ({ headers: { authorization: `Bearer ${text}` } })
  t.match(await admins(bearer((await key(ann)).text)), { id: ann, role: 'admin' })
  const customer = bearer((await key(eve)).text)
  await t.rejects(admins(customer), REFUSED)
  await t.rejects(admins(customer), REFUSED, 'from the cache too')
  await t.rejects(admins(bearer((await token(ann)).text)), { code: 'AUTH_KIND', status: 401 })
  await t.rejects(admins({}), { code: 'AUTH_MISSING', status: 401 })
  t.match(await route('key')(customer), { id: eve }, 'a route without the role accepts it')
})

t.test('auth role: accepts the configured modes', async t => {
  const { account, key, token, route } = await openAccounts(t)
  const [ann, eve] = [await account('ann', 'admin'), await account('eve')]
  const admins = route({ by: ['query-key', 'system-token'], role: 'admin' })
  const ask = (text: string) => ({ headers: { authorization: text } })
  t.match(await admins(ask((await token(ann)).text)), { id: ann })
  await t.rejects(admins(ask((await token(eve)).text)), REFUSED)
  t.match(await admins({ query: `key=${(await key(ann)).text}` }), { id: ann })
  await t.rejects(admins({ query: `key=${(await key(eve)).text}` }), REFUSED)
})

t.test('auth role: an admin has the rights of a customer', async t => {
  const { account, key, host } = await openAccounts(t)
  const stage = auth.setup({ by: 'key', role: 'customer' }, host)
  for (const role of ['admin', 'customer'] as const) {
    const { text } = await key(await account(role, role))
    t.match(await passThrough(stage, { headers: { 'x-api-key': text } }), { role })
  }
})

t.test('auth role: refuses in the dialect of the route', async t => {
  const gateway = await startGateway({
    routes: `
pipeline: [errors, auth]
upstreams: { up: { url: 'http://127.0.0.1:1' } }
routes:
  - { path: GET /openai, upstream: up, auth: { role: admin } }
  - { path: GET /anthropic, upstream: up, auth: { role: admin }, errors: anthropic }
  - { path: GET /google, upstream: up, auth: { role: admin }, errors: google }
  - { path: GET /vidu, upstream: up, auth: { role: admin }, errors: vidu }
  - { path: GET /midjourney, upstream: up, auth: { role: admin }, errors: midjourney }
  - { path: GET /envelope, upstream: up, auth: { by: system-token, role: admin }, errors: envelope }
`,
  })
  const database = await openDatabase({ url: 'sqlite:', data: gateway.data, writeTimeout: 60_000 })
  t.teardown(async () => {
    await database.close()
    await gateway.stop()
  })
  // The key of the admin that the bootstrap creates.
  const admin = await gateway.key()
  const now = Date.now()
  const results = await database.write(createAccount({ name: 'eve', role: 'customer' }, now))
  const account = Number(results.at(-1)?.[0]?.id)
  const [key, token] = [makeSecret('key'), makeSecret('system-token')]
  await database.write(addKey({ account, name: 'test', secret: key }, now))
  await database.write(addToken({ account, name: 'test', secret: token }, now))
  const ask = (dialect: string, secret: string) =>
    fetch(`${gateway.url}/${dialect}`, { headers: { authorization: `Bearer ${secret}` } })
  const text = 'This route requires an account with the role "admin"'
  const BODIES = {
    openai: { error: { type: 'permission_error', code: 'permission_denied' } },
    anthropic: { type: 'error', error: { type: 'permission_error', message: text } },
    google: { error: { code: 403, status: 'PERMISSION_DENIED', message: text } },
    vidu: { code: 403, reason: 'Forbidden', message: text },
    midjourney: { description: text, type: 'gateway_error' },
    envelope: { success: false, message: text },
  }
  for (const [dialect, expected] of Object.entries(BODIES)) {
    const response = await ask(dialect, dialect === 'envelope' ? token.text : key.text)
    t.equal(response.status, 403, dialect)
    const body = await response.text()
    t.match(JSON.parse(body), expected, dialect)
    t.match(body, /an account with the role/)
  }
  // An admin passes; the upstream is unreachable.
  t.equal((await ask('openai', admin)).status, 502)
})

const INVALID_OPTIONS: readonly (readonly [auth: string, message: RegExp])[] = [
  [
    '{ role: admn }',
    /routes\.yaml:5:\d+ {2}UNKNOWN_VALUE .*auth\.role cannot be admn.*did you mean "admin"\?/,
  ],
  ['{ by: key }', /MISSING_KEY .*auth needs the key "role"/],
  ['{ by: none, role: admin }', /BAD_VALUE .*auth\.by cannot be none/],
  ['{ by: system-tokn, role: admin }', /AUTH_MODE .*did you mean "system-token"\?/],
]
t.test('auth role: reports invalid options with their position', async t => {
  const root = fileURLToPath(new URL('../../../', import.meta.url))
  const folder = t.testdir({})
  const config = join(folder, 'routes.yaml')
  const dataFolder = usedFolder(join(folder, 'data'))
  for (const [option, text] of INVALID_OPTIONS) {
    writeFileSync(
      config,
      `settings: { plugins: [${join(root, 'plugins')}], data: '${dataFolder}' }
pipeline: [errors, auth]
upstreams: { up: { url: http://127.0.0.1:1 } }
routes:
  - { path: GET /x, upstream: up, auth: ${option} }
`,
    )
    const { code, out, err } = await tollgate(['check', '--config', config])
    t.not(code, 0, option)
    t.match(`${out}${err}`, text, option)
  }
})
