/** Tokens of a real provider: which are accepted, and whose account they use. */
import { createPublicKey } from 'node:crypto'
import t, { type Test } from 'tap'
import { createOperatorRequest } from '../../../engine/egress/operator-request.ts'
import type { Host } from '../../../engine/plugin.ts'
import auth from '../../../plugins/auth/index.ts'
import { removeMember } from '../../../plugins/credentials/members.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey, revoke, suspendAccount } from '../../../plugins/credentials/statements.ts'
import identity from '../../../plugins/identity/index.ts'
import { runWhole } from '../../../plugins/operator/command-line.ts'
import { ACCOUNT } from '../../../plugins/slots.ts'
import { eventually } from '../../helpers/eventually.ts'
import { exchangeOf, openAccountsIn } from '../../helpers/store/accounts.ts'
import { makeLedger } from '../../helpers/store/membership.ts'
import { operationNamed } from '../../helpers/store/operations.ts'
import { ENGINES, type Engine, sql, startAnyStore } from '../../helpers/store/store.ts'
import { AUDIENCE, forge, makeKeys, openProvider } from './provider.ts'

const KEYS = makeKeys('first')
const now = () => Math.floor(Date.now() / 1_000)

interface Setting {
  readonly mode?: 'jwt' | ['key', 'jwt']
  readonly engine?: Engine
}
const start = async (t: Test, section: object = {}, setting: Setting = {}) => {
  const { mode = 'jwt', engine = 'sqlite' } = setting
  const provider = await openProvider(t)
  await provider.start(KEYS)
  const accounts = await openAccountsIn(await (await startAnyStore(t, engine)).open())
  const settings = { issuer: provider.issuer, audience: AUDIENCE, ...section }
  const host = {
    ...accounts.host,
    section: () => settings,
    request: createOperatorRequest(),
    file: () => JSON.stringify(KEYS.jwks),
    route: { ...accounts.host.route, option: () => mode },
  } as unknown as Host
  const stages = [identity.setup({}, host), auth.setup(mode, host)]
  const admit = async (token: string, header = 'authorization') => {
    const value = header === 'authorization' ? `Bearer ${token}` : token
    const exchange = exchangeOf({ headers: { [header]: value } })
    for (const stage of stages) await stage.handle?.(exchange, async () => {})
    return exchange.slots.get(ACCOUNT)
  }
  const claims = { iss: provider.issuer, aud: AUDIENCE, sub: 'robot', exp: now() + 600 }
  return { provider, admit, claims, ...accounts }
}

t.test('identity: accepts tokens of each algorithm that the provider signs', async t => {
  const { provider, admit } = await start(t)
  const first = await admit(await provider.token())
  t.match(first, { name: 'robot', role: 'customer', key: { name: 'jwt robot' } })
  for (const alg of ['PS256', 'ES256', 'EdDSA']) {
    const account = await admit(await provider.token({ alg }))
    t.equal(account?.key?.id, first?.key?.id, `${alg}: one key for each identity`)
  }
  t.match(await admit(await provider.token(), 'x-api-key'), { name: 'robot' })
  t.match(await admit(await provider.token(), 'x-goog-api-key'), { name: 'robot' })
  t.equal(provider.keyRequests(), 1)
  const token = await provider.token()
  t.equal(await admit(token), await admit(token), 'one object for each token')
})

t.test('identity: refuses tokens that are not for this gateway, or not signed', async t => {
  const { provider, admit, claims } = await start(t)
  const kid = 'first-rsa'
  const refused = async (token: string, code: string, text: string) =>
    t.rejects(admit(token), { code, status: 401 }, text)
  t.ok(await admit(forge(claims, KEYS.rsa, { kid })), 'the claims are fine otherwise')
  await refused(await provider.token({ audience: 'https://other.test' }), 'JWT_AUDIENCE', 'aud')
  await refused(forge({ ...claims, iss: 'https://x.test' }, KEYS.rsa, { kid }), 'JWT_ISSUER', 'iss')
  await refused(forge({ ...claims, aud: undefined }, KEYS.rsa, { kid }), 'JWT_AUDIENCE', 'no aud')
  await refused(forge({ ...claims, iss: undefined }, KEYS.rsa, { kid }), 'JWT_ISSUER', 'no iss')
  for (const claim of ['exp', 'sub'])
    await refused(forge({ ...claims, [claim]: undefined }, KEYS.rsa, { kid }), 'JWT_INVALID', claim)
  await refused(forge(claims, makeKeys('x').rsa, { kid }), 'JWT_INVALID', 'key of a stranger')
  await refused(forge(claims, undefined, { kid }), 'JWT_INVALID', 'none')
  const publicKey = createPublicKey(KEYS.rsa)
  for (const text of [
    publicKey.export({ format: 'pem', type: 'spki' }) as string,
    publicKey.export({ format: 'pem', type: 'pkcs1' }) as string,
    JSON.stringify(publicKey.export({ format: 'jwk' })),
  ])
    await refused(forge(claims, text, { kid }), 'JWT_INVALID', 'the public key as a secret')
  await refused(
    forge(claims, KEYS.rsa, { kid, alg: 'ES256' }),
    'JWT_INVALID',
    'another kind of key',
  )
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  await refused(forge({ ...claims, events }, KEYS.rsa, { kid }), 'JWT_INVALID', 'logout token')
  await refused(forge(claims, KEYS.rsa, { kid, typ: 'logout+jwt' }), 'JWT_INVALID', 'its type')
  await refused(forge({ ...claims, cnf: { jkt: 'x' } }, KEYS.rsa, { kid }), 'JWT_INVALID', 'cnf')
  await refused(`eyJ${'a'.repeat(20_000)}.a.a`, 'JWT_INVALID', 'too long')
  await refused('eyJhbGciOiJSUzI1NiJ9.x.x', 'JWT_INVALID', 'not JSON')
})

t.test('identity: clocks may differ by 60 s', async t => {
  const { admit, claims } = await start(t)
  const at = (times: object) =>
    admit(forge({ ...claims, ...times }, KEYS.rsa, { kid: 'first-rsa' }))
  t.ok(await at({ exp: now() - 40 }))
  t.ok(await at({ nbf: now() + 40 }))
  await t.rejects(at({ exp: now() - 61 }), { code: 'JWT_EXPIRED', status: 401 })
  await t.rejects(at({ nbf: now() + 90 }), { code: 'JWT_INVALID', message: /nbf/ })
})

t.test('identity: claims name the team, the member and the role', async t => {
  const { provider, admit } = await start(t, {
    account: { claim: 'org.id' },
    member: 'email',
    role: { claim: 'groups', map: { bosses: 'admin', staff: 'member', readers: 'viewer' } },
  })
  const ann = { org: { id: 'acme' }, email: 'ann@acme.test' }
  const staff = await admit(
    await provider.token({ claims: { ...ann, groups: ['readers', 'staff'] } }),
  )
  t.match(staff, { name: 'acme', member: { name: 'ann@acme.test', role: 'member' } })
  const boss = await admit(await provider.token({ claims: { ...ann, groups: 'bosses' } }))
  t.match(boss, { key: { id: staff?.key?.id }, member: { id: staff?.member?.id, role: 'admin' } })
  const as = async (claims: object) =>
    admit(await provider.token({ claims: { ...ann, ...claims } }))
  await t.rejects(as({ groups: ['readers'] }), { code: 'MEMBER_ROLE' }, 'a viewer calls nothing')
  for (const [claim, claims] of Object.entries({
    groups: { groups: ['owner', '__proto__'] },
    email: { email: 'eve@acme.test', email_verified: false, groups: 'staff' },
    'org.id': { org: { id: ['a', 'b'] }, groups: 'staff' },
  }))
    await t.rejects(as(claims), { code: 'IDENTITY_CLAIM', status: 403, message: claim })
  await t.rejects(as({ org: { id: '4711' }, groups: 'staff' }), { code: 'ACCOUNT_NUMBER' })
})

for (const engine of ENGINES) {
  t.test(`identity: the end of a member ends its tokens, ${engine}`, async t => {
    const section = { account: { map: { robot: 'team' } }, member: 'email' }
    const { admit, database, claims } = await start(t, section, { engine })
    const tokenOf = (email: string) =>
      forge({ ...claims, sub: email, email }, KEYS.rsa, { kid: 'first-rsa' })
    await t.rejects(admit(tokenOf('ann@x.test')), { code: 'IDENTITY_CLAIM' }, 'not in the map')
    const robot = (email: string, more = {}) =>
      forge({ ...claims, email, ...more }, KEYS.rsa, { kid: 'first-rsa' })
    const ann = await admit(robot('ann@x.test'))
    t.match(ann, { name: 'team', member: { name: 'ann@x.test', role: 'member' } })
    const until = async (token: string, code: string) => {
      for (;;) {
        const error = await admit(token).then(
          () => undefined,
          each => each,
        )
        if (error) return t.match(error, { code })
        await new Promise(setImmediate)
      }
    }
    const token = robot('ann@x.test')
    const { id = 0, name = '', role = 'member' } = ann?.member ?? {}
    await database.write(removeMember({ id, name, role, account: ann?.id ?? 0 }, Date.now()))
    await until(token, 'AUTH_REVOKED')
    await t.rejects(admit(robot('ann@x.test', { jti: '2' })), { code: 'AUTH_REVOKED' }, 'a new one')
  })
  t.test(
    `identity: calls at the same time create one account, member and key, ${engine}`,
    async t => {
      const { provider, admit } = await start(t, { member: 'email' }, { engine })
      const token = await provider.token({ claims: { email: 'a@x.test' } })
      const all = await Promise.all(Array.from({ length: 8 }, () => admit(token)))
      t.equal(new Set(all.map(each => `${each?.id} ${each?.key?.id} ${each?.member?.id}`)).size, 1)
    },
  )
}

t.test('identity: what a token creates is in the log of actions', async t => {
  const { provider, admit, database } = await start(t, { member: 'email' })
  await admit(await provider.token({ claims: { email: 'ann@a.example' } }))
  await admit(await provider.token({ claims: { email: 'ann@a.example' } }))
  const actions = sql('actions', 'SELECT operation, actor, object FROM actions ORDER BY seq')
  t.match(await database.read(actions, []), [
    { operation: 'accounts create', actor: 'jwt robot', object: 'account robot' },
    { operation: 'members invite', actor: 'jwt robot', object: /^member of account \d+$/ },
    { operation: 'keys create', actor: 'jwt robot', object: /^API key of account \d+$/ },
  ])
  t.equal((await database.read(actions, [])).length, 3)
})

t.test('identity: a revoked one is admitted again by an operator; none has a secret', async t => {
  const { provider, admit, host, database } = await start(t, { member: 'email' })
  const token = await provider.token({ claims: { email: 'ann@a.example' } })
  await makeLedger(database)
  const first = await admit(token)
  const key = first?.key?.id ?? 0
  const change = (name: string, args: object) =>
    runWhole(
      operationNamed(name),
      args as never,
      { ...host, section: () => ({}), database } as never,
    )
  await t.rejects(change('keys rotate', { key }), { code: 'KEY_OF_IDENTITY', status: 409 })
  t.equal((await admit(token))?.key?.id, key, 'it is as before')
  await t.rejects(change('keys revoke', { key, readmit: true }), { code: 'KEY_NOT_REVOKED' })
  await change('keys revoke', { key })
  await eventually(() =>
    admit(token).then(
      () => undefined,
      ({ code }) => code === 'AUTH_REVOKED',
    ),
  )
  await change('keys revoke', { key, readmit: true })
  await change('keys revoke', { key, readmit: true })
  const again = await eventually(() => admit(token).catch(() => undefined))
  t.match(again, { name: 'robot', member: { id: first?.member?.id }, key: { name: 'jwt robot' } })
  t.not(again?.key?.id, key)
  const secret = makeSecret('key')
  await database.write(addKey({ account: first?.id ?? 0, name: 'app', secret }, 1))
  const [row] = await database.read({ name: 'key', text: 'SELECT max(id) AS id FROM api_keys' }, [])
  await change('keys revoke', { key: Number(row?.id) })
  await t.rejects(change('keys revoke', { key: Number(row?.id), readmit: true }), {
    code: 'KEY_ENDED',
  })
})

t.test('identity: a suspended account and a revoked key refuse tokens', async t => {
  const { admit, database, claims } = await start(t, {}, { mode: ['key', 'jwt'] })
  const tokenOf = (sub: string) => forge({ ...claims, sub }, KEYS.rsa, { kid: 'first-rsa' })
  const ann = await admit(tokenOf('ann'))
  await database.write(revoke('key', ann?.key?.id ?? 0, Date.now()))
  const bob = await admit(tokenOf('bob'))
  await database.write(suspendAccount(bob?.id ?? 0, Date.now()))
  for (const [name, code] of [
    ['ann', 'AUTH_REVOKED'],
    ['bob', 'AUTH_SUSPENDED'],
  ] as const) {
    let error: unknown
    while (error === undefined) {
      await admit(tokenOf(name)).catch(each => {
        error = each
      })
      await new Promise(setImmediate)
    }
    t.match(error, { code })
  }
})

t.test('identity: creates only what the section says, and no operator', async t => {
  const { provider, admit, account } = await start(t, { create: 'nothing', member: 'email' })
  const token = () => provider.token({ claims: { email: 'a@x.test' } })
  await t.rejects(admit(await token()), { code: 'IDENTITY_UNKNOWN', message: /account "robot"/ })
  await account('robot')
  await t.rejects(admit(await token()), { code: 'IDENTITY_UNKNOWN', message: /member "a@x.test"/ })
  const operators = await start(t, { account: { map: { robot: 'root' } } })
  await operators.account('root', 'admin')
  const robot = await operators.provider.token()
  await t.rejects(operators.admit(robot), { code: 'IDENTITY_OPERATOR', status: 403 })
  const allowed = await start(t, { account: { map: { robot: 'root' } }, operators: true })
  await allowed.account('root', 'admin')
  t.match(await allowed.admit(await allowed.provider.token()), { name: 'root', role: 'admin' })
})

t.test('identity: API keys pass beside tokens, and no text of a client is an identity', async t => {
  const { provider, admit, account, key } = await start(t, {}, { mode: ['key', 'jwt'] })
  const ann = await account('ann')
  t.match(await admit((await key(ann)).text), { id: ann })
  const robot = await admit(await provider.token())
  t.match(robot, { name: 'robot' })
  await t.rejects(admit('sk-unknown'), { code: 'AUTH_UNKNOWN' })
  await t.rejects(admit('identity:0000'), { code: 'AUTH_UNKNOWN' })
})
