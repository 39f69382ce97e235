/** Claims: paths, lists, maps and roles. */
import t from 'tap'
import identity from '../../../plugins/identity/index.ts'
import { identityOf, valuesAt } from '../../../plugins/identity-provider/claims.ts'
import { SECTION } from '../../../plugins/identity-provider/section.ts'

t.test('claims: a path finds members of objects, lists and names with dots', async t => {
  const claims = {
    sub: 'x',
    org: { id: 7, groups: ['a', 'b'] },
    'https://x.test/roles': ['r'],
    'https://x.test/app': { roles: ['s', { name: 'no' }] },
    list: [{ id: 'l1' }, { id: 'l2' }, 'text'],
    empty: [],
    flag: true,
  }
  const textAt = (path: string) => valuesAt(claims, path).join()
  t.equal(textAt('sub'), 'x')
  t.equal(textAt('org.id'), '7')
  t.equal(textAt('org.groups'), 'a,b')
  t.equal(textAt('https://x.test/roles'), 'r')
  t.equal(textAt('https://x.test/app.roles'), 's')
  t.equal(textAt('list.id'), 'l1,l2')
  for (const path of ['empty', 'flag', 'org', 'org.none', 'none.none', '__proto__', 'sub.length'])
    t.equal(textAt(path), '', path)
})

const BASE = { issuer: 'https://id.test', audience: 'gateway' }
const mapped = (section: object, claims: object) =>
  identityOf({ sub: 'ann', ...claims }, SECTION.read({ ...BASE, ...section }))

t.test('claims: the account is a value, with a prefix or by a map', async t => {
  t.match(mapped({}, {}), { account: 'ann', member: undefined, role: undefined })
  t.match(mapped({ account: { prefix: 'sso-' } }, { sub: '42' }), { account: 'sso-42' })
  t.match(mapped({}, { sub: 'auth0|5f' }), { account: 'auth0|5f' })
  const account = { claim: 'groups', map: { eng: 'acme', ops: 'tools' } }
  t.match(mapped({ account }, { groups: ['x', 'ops', 'eng'] }), { account: 'acme' })
  for (const groups of [[], undefined, 'x', 'constructor'])
    t.throws(() => mapped({ account }, { groups }), { code: 'IDENTITY_CLAIM' })
  for (const sub of ['', 'deleted:1:x', 'a\nb', 'x'.repeat(65), ' x'])
    t.throws(() => mapped({}, { sub }), { code: 'IDENTITY_CLAIM' }, JSON.stringify(sub))
})

t.test('claims: of several roles the one with the most rights counts', async t => {
  const role = { claim: 'roles', default: 'viewer' }
  const roleOf = (roles: unknown, more = {}) =>
    mapped({ member: 'sub', role: { ...role, ...more } }, { roles }).role
  t.equal(roleOf(['member', 'admin']), 'admin')
  t.equal(roleOf(['other']), 'viewer')
  t.equal(roleOf(['admin', 'devs'], { map: { devs: 'member' } }), 'member', 'only the map counts')
  t.throws(() => roleOf([], { default: undefined }), { code: 'IDENTITY_CLAIM', status: 403 })
})

t.test('claims: an address that is not verified names no account, member or role', async t => {
  const email = 'eve@acme.test'
  const sections = [
    { account: { claim: 'email' } },
    { account: { claim: 'email', map: { [email]: 'acme' } } },
    { member: 'email' },
    { member: 'sub', role: { claim: 'email', map: { [email]: 'admin' } } },
  ]
  for (const section of sections) {
    for (const flag of [false, 'false'])
      t.throws(() => mapped(section, { email, email_verified: flag }), { code: 'IDENTITY_CLAIM' })
    for (const flag of [true, 'true', undefined])
      t.match(mapped(section, { email, email_verified: flag }), { subject: 'ann' })
  }
})

t.test('claims: the name of a member cannot be the number of another', async t => {
  for (const sub of ['7', 7, '123456789012345'])
    t.throws(() => mapped({ account: { prefix: 'a-' }, member: 'sub' }, { sub }), {
      code: 'IDENTITY_CLAIM',
    })
  const long = '123456789012345678901'
  t.match(mapped({ account: { prefix: 'a-' }, member: 'sub' }, { sub: long }), { member: long })
})

t.test('claims: identities differ by issuer, subject and account', async t => {
  const digest = (claims: object, section = {}) => mapped(section, claims).digest
  const account = { claim: 'org' }
  const digests = [
    digest({}),
    digest({ sub: 'bob' }),
    digest({}, { issuer: 'https://other.test' }),
    digest({ org: 'acme' }, { account }),
  ]
  t.equal(new Set(digests).size, 4)
  t.equal(digest({ jti: 1 }), digest({ jti: 2 }))
})

t.test('identity: a section or a mode without effect is a problem', async t => {
  const problems = (document: object) => {
    const codes: string[] = []
    identity.check(document as never, (path, code) => void codes.push([...path, code].join(' ')))
    return codes
  }
  const both = ['identity', 'auth']
  const routes = [{ path: 'GET /x', auth: ['key', 'jwt'] }]
  t.same(problems({ pipeline: both, identity: BASE, routes }), [])
  t.same(problems({ pipeline: ['auth'], identity: BASE, routes: [] }), ['identity IDENTITY_OPTION'])
  t.same(problems({ pipeline: both, routes }), ['routes 0 auth IDENTITY_OPTION'])
  const by = [{ path: 'GET /x', auth: { by: 'jwt', role: 'admin' } }]
  t.same(problems({ pipeline: both, routes: by }), ['routes 0 auth IDENTITY_OPTION'])
  t.same(problems({ pipeline: ['jwt', 'auth'], routes }), [], 'a plugin of the operator')
  const role = { claim: 'roles' }
  t.same(problems({ pipeline: both, identity: { ...BASE, role }, routes }), [
    'identity role IDENTITY_OPTION',
  ])
  for (const auth of ['key', { by: ['key', 'system-token'] }, undefined])
    t.same(
      problems({ pipeline: both, identity: BASE, routes: [{ path: 'GET /x', auth }] as never }),
      ['identity IDENTITY_OPTION'],
      'no route takes tokens',
    )
  const signIn = { ...BASE, client_id: 'tollgate' }
  t.same(problems({ pipeline: both, identity: signIn, routes: [] }), [], 'the console uses it')
  const byJwt = [{ path: 'GET /x', auth: { by: ['key', 'jwt'] } }]
  t.same(problems({ pipeline: both, identity: BASE, routes: byJwt }), [])
  t.same(problems({ pipeline: 1, identity: 1, routes: 1 }), [], 'the schema names these')
})
