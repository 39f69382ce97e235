/** Modes of `auth` that plugins add: docs/plugins.md's `jwt` beside API keys. */
import { createHmac } from 'node:crypto'
import t from 'tap'
import type { Exchange, Plugin } from '../../../engine/plugin.ts'
import auth from '../../../plugins/auth/index.ts'
import { ensureAccount } from '../../../plugins/credentials/find.ts'
import { suspendAccount } from '../../../plugins/credentials/statements.ts'
import { ACCOUNT } from '../../../plugins/slots.ts'
import { exampleOf } from '../../docs/examples.ts'
import { exchangeOf, openAccounts } from '../../helpers/store/accounts.ts'

const SECRET = 'a shared secret'
const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const tokenOf = (claims: object, secret = SECRET): string => {
  const signed = `${base64({ alg: 'HS256' })}.${base64(claims)}`
  return `Bearer ${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}
const LATER = Math.floor(Date.now() / 1_000) + 600

t.test('auth modes: a route takes an API key or the token of a plugin', async t => {
  const { account, key, host, database } = await openAccounts(t)
  const jwt = (await exampleOf(t, 'jwt')) as Plugin<string>
  const stages = [await jwt.setup(SECRET, host), auth.setup(['key', 'jwt'], host)]
  const admit = async (authorization: string, more = stages) => {
    const exchange: Exchange = exchangeOf({ headers: { authorization } })
    for (const stage of more) await stage.handle?.(exchange, async () => {})
    return exchange.slots.get(ACCOUNT)
  }
  const ann = await account('jwt-ann')
  t.match(await admit(`Bearer ${(await key(ann)).text}`), { id: ann, name: 'jwt-ann' })
  t.match(await admit(tokenOf({ sub: 'ann', exp: LATER })), { id: ann, role: 'customer' })
  const first = await admit(tokenOf({ sub: 'new@example.com', exp: LATER }))
  t.match(first, { name: 'jwt-new@example.com', role: 'customer' })
  t.same(await admit(tokenOf({ sub: 'new@example.com', exp: LATER })), first, 'created once')

  const invalid = { code: 'JWT_INVALID', status: 401 }
  await t.rejects(admit(tokenOf({ sub: 'ann', exp: LATER }, 'another secret')), invalid)
  await t.rejects(admit(tokenOf({ sub: 'ann', exp: 1 })), invalid)
  await t.rejects(admit('Bearer sk-unknown'), { code: 'AUTH_UNKNOWN' })
  await t.rejects(admit(''), { code: 'AUTH_MISSING' })

  const admins = [stages[0] ?? {}, auth.setup({ by: ['jwt'], role: 'admin' }, host)]
  await t.rejects(admit(tokenOf({ sub: 'ann', exp: LATER }), admins), { code: 'AUTH_ROLE' })
  await account('jwt-root', 'admin')
  t.match(await admit(tokenOf({ sub: 'root', exp: LATER }), admins), { role: 'admin' })
  const onlyKeys = [stages[0] ?? {}, auth.setup('key', host)]
  await t.rejects(admit(tokenOf({ sub: 'ann', exp: LATER }), onlyKeys), { code: 'AUTH_UNKNOWN' })
  await t.rejects(admit('', [auth.setup('jwt', host)]), { code: 'AUTH_MISSING' })

  await database.write(suspendAccount(ann, Date.now()))
  await t.rejects(admit(tokenOf({ sub: 'ann', exp: LATER })), { code: 'AUTH_SUSPENDED' })
})

t.test('ensureAccount: calls at the same time create one account', async t => {
  const { database } = await openAccounts(t)
  const accounts = await Promise.all(
    Array.from({ length: 8 }, () => ensureAccount(database, 'together')),
  )
  t.equal(new Set(accounts.map(({ id }) => id)).size, 1)
})

t.test('auth modes: an unknown mode is a problem, with the name that was meant', t => {
  const problemsOf = (pipeline: string[], mode: string) => {
    const problems: unknown[] = []
    const document = { pipeline, routes: [{ path: 'GET /', auth: ['key', mode] }] }
    auth.check(document, (...problem) => void problems.push(problem))
    return problems
  }
  t.same(problemsOf(['jwt', 'auth'], 'jwt'), [])
  t.same(problemsOf(['jwt', 'auth'], 'query-key'), [])
  t.match(problemsOf(['jwt', 'auth'], 'jwtt'), [
    [['routes', 0, 'auth'], 'AUTH_MODE', /no mode "jwtt"/, 'jwt'],
  ])
  t.match(problemsOf(['auth'], 'system-tokn'), [[Array, 'AUTH_MODE', String, 'system-token']])
  t.match(problemsOf(['auth', 'jwt'], 'jwt'), [[Array, 'AUTH_MODE', /before "auth"/]])
  t.end()
})

t.test(
  'ensureAccount: refuses a name that is the number of another account, or might become one',
  async t => {
    const { database, account } = await openAccounts(t)
    const first = await account('first')
    await t.rejects(ensureAccount(database, String(first)), { code: 'ACCOUNT_NUMBER', status: 403 })
    await t.rejects(ensureAccount(database, '4711'), /"4711" is a number/)
    t.match(await ensureAccount(database, 'jwt-4711'), { name: 'jwt-4711' })
  },
)
