/** An identity provider provisions the members of a team, on both stores: its users are those of
 *  its tokens, their end ends all that they have, and each change is in the log of actions. */
import t, { type Test } from 'tap'
import { linkIn, startConsole } from '../../helpers/console/console-gateway.ts'
import { eventually } from '../../helpers/eventually.ts'
import { bearer, postTo } from '../../helpers/gateway/post.ts'
import { startPostgres } from '../../helpers/store/postgres.ts'
import { ENGINES, type Engine } from '../../helpers/store/store.ts'
import { AUDIENCE, forge, makeKeys } from '../identity/provider.ts'

const KEYS = makeKeys('first')
const TOKEN = 'scim-token-of-this-test-0001'
const ROUTES = `
include: [tollgate:console.yaml, tollgate:scim.yaml]
pipeline: [errors, observe, identity, auth, validate, model, limit, idempotency, meter, account, console, scim, openapi, translate, notify, sandbox]
identity:
  issuer: https://id.test
  jwks: keys.json
  audience: ${AUDIENCE}
  account: { claim: org }
  member: email
scim:
  token: [${TOKEN}, another-token-of-this-test-02]
  account: acme
  accounts: { Research: research }
  roles: { Admins: admin, Readers: viewer }
upstreams: { inside: { url: 'sandbox:' } }
models: { chat: { to: inside/m, price: { input: 0.01, output: 0.02 }, output: 50, context: 1000 } }
routes:
  - { path: POST /v1/chat/completions, auth: [key, jwt], model: body, translate: openai-chat, errors: openai }
`
const USER = 'urn:ietf:params:scim:schemas:core:2.0:User'
const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group'
const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error'
const patchBody = (...Operations: object[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
})
/** As Okta documents it. */
const oktaUser = (name: string, more: object = {}) => ({
  schemas: [USER],
  userName: name,
  name: { givenName: 'Test', familyName: 'User' },
  emails: [{ primary: true, value: name, type: 'work' }],
  displayName: 'Test User',
  locale: 'en-US',
  externalId: `okta-${name}`,
  groups: [],
  password: '1mz050nq',
  active: true,
  ...more,
})

const start = async (t: Test, engine: Engine) => {
  const server = engine === 'postgres' ? await startPostgres() : undefined
  if (server) t.teardown(() => server.stop())
  const env = server ? { DATABASE_URL: await server.create() } : {}
  const files = { 'keys.json': JSON.stringify(KEYS.jwks) }
  const gateway = await startConsole(t, {
    routes: ROUTES,
    files,
    env,
    settings: "database: '${DATABASE_URL:-sqlite:}'",
  })
  const scim = async (method: string, path: string, body?: unknown, token = TOKEN) => {
    const response = await fetch(`${gateway.url}/scim/v2/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/scim+json' }),
      },
      ...(body !== undefined && {
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    })
    const text = await response.text()
    const { status, headers } = response
    return { status, headers, body: text === '' ? undefined : JSON.parse(text) }
  }
  const admin = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${gateway.token}` }
    const reply = await gateway.ask(method, `/api/admin/${path}`, body, headers)
    if (reply.status !== 200) throw new Error(`${path}: ${JSON.stringify(reply.body)}`)
    return reply.body.data
  }
  await admin('POST', 'accounts', { name: 'acme' })
  await admin('POST', 'accounts/credit', { account: 'acme', amount: 10 })
  const call = async (credential: string) => {
    const response = await postTo(
      `${gateway.url}/v1/chat/completions`,
      {
        model: 'chat',
        max_tokens: 10,
        messages: [{ role: 'user', content: 'Hi' }],
      },
      bearer(credential),
    )
    await response.text()
    return response.status
  }
  const tokenOf = (email: string, more: object = {}) => {
    const exp = Math.floor(Date.now() / 1_000) + 600
    const claims = { iss: 'https://id.test', aud: AUDIENCE, org: 'acme', exp, sub: email, email }
    return forge({ ...claims, ...more }, KEYS.rsa, { kid: 'first-rsa' })
  }
  const members = async (account = 'acme') =>
    (await admin('GET', `members?account=${account}`)).map(({ id, name, role }) => ({
      id,
      name,
      role,
    }))
  return { gateway, scim, admin, call, tokenOf, members }
}

for (const engine of ENGINES)
  t.test(`SCIM users and groups, ${engine}`, async t => {
    const { gateway, scim, admin, call, tokenOf, members } = await start(t, engine)
    const name = 'test.user@okta.test'

    await t.test('foreign tokens get 401', async t => {
      for (const token of ['x', gateway.token, gateway.apiKey, `${TOKEN}x`]) {
        const reply = await scim('GET', 'Users', undefined, token)
        t.equal(reply.status, 401)
        t.match(reply.body, { schemas: [ERROR], status: '401', detail: /token/ })
        t.equal(reply.headers.get('content-type'), 'application/scim+json')
      }
      t.equal((await scim('GET', 'Users', undefined, 'another-token-of-this-test-02')).status, 200)
    })
    await t.test('the documents say what is offered', async t => {
      t.match((await scim('GET', 'ServiceProviderConfig')).body, {
        patch: { supported: true },
        bulk: { supported: false },
        filter: { supported: true, maxResults: 200 },
      })
      const types = await scim('GET', 'ResourceTypes')
      t.match(types.body, { totalResults: 2, Resources: [{ schema: USER }, { schema: GROUP }] })
      const schemas = await scim('GET', 'Schemas')
      t.match(schemas.body.Resources, [{ id: USER }, { id: GROUP }])
      t.ok(schemas.body.Resources[0].attributes.some((each: object) => 'subAttributes' in each))
    })

    await t.test('a person has no access before the creation and after the deletion', async t => {
      t.equal(await call(tokenOf(name)), 403, 'a token alone makes no member')
      const query = `Users?filter=${encodeURIComponent(`userName eq "${name}"`)}&startIndex=1&count=100`
      t.match((await scim('GET', query)).body, { totalResults: 0, startIndex: 1, Resources: [] })
      const created = await scim('POST', 'Users', oktaUser(name))
      t.equal(created.status, 201, JSON.stringify(created.body))
      const { id } = created.body
      t.equal(created.headers.get('location'), `${gateway.url}/scim/v2/Users/${id}`)
      t.match(created.body, {
        schemas: [USER],
        userName: name,
        externalId: `okta-${name}`,
        active: true,
        groups: [],
        meta: { resourceType: 'User', location: created.headers.get('location') },
      })
      t.notMatch(created.body, { password: /./ })
      const twice = await scim('POST', 'Users', oktaUser(name.toUpperCase()))
      t.equal(twice.status, 409)
      t.match(twice.body, { schemas: [ERROR], status: '409', scimType: 'uniqueness' })
      t.match((await scim('GET', query)).body, { totalResults: 1, Resources: [{ id }] })
      const [member] = await members()
      t.match(member, { name, role: 'member' })

      t.equal(await call(tokenOf(name)), 200)
      const { key } = await admin('POST', 'keys', { account: 'acme', member: name, name: 'app' })
      t.equal(await call(String(key)), 200)
      const link = await admin('POST', 'members/link', { account: 'acme', member: name })
      const session = await gateway.signIn({ link: linkIn(String(link.url)) })

      const off = { op: 'replace', value: { active: false } }
      const disabled = await scim('PATCH', `Users/${id}`, patchBody(off))
      t.match(disabled, { status: 200, body: { id, active: false, userName: name } })
      await eventually(async () => (await call(String(key))) === 401)
      await eventually(async () => (await call(tokenOf(name))) === 401)
      await eventually(async () => (await session.ask('GET', '/api/session')).status === 401)
      t.not(await call(tokenOf(name, { jti: 'new' })), 200, 'nor does a new token')
      t.same(await members(), [])

      const on = { op: 'Replace', path: 'active', value: 'True' }
      t.match((await scim('PATCH', `Users/${id}`, patchBody(on))).body, { active: true })
      t.same(await members(), [member], 'with the same number')
      await eventually(async () => (await call(tokenOf(name))) === 200)
      t.equal(await call(String(key)), 401, 'the key has ended')
      t.equal((await session.ask('GET', '/api/session')).status, 401)

      const whole = oktaUser(name, { id, active: false, name: { givenName: 'New' } })
      t.match((await scim('PUT', `Users/${id}`, whole)).body, {
        active: false,
        name: { givenName: 'New' },
      })
      t.same(await members(), [])
      t.equal((await scim('DELETE', `Users/${id}`)).status, 204)
      const deleted = await scim('GET', `Users/${id}`)
      t.match(deleted, { status: 404, body: { schemas: [ERROR], status: '404' } })
      const again = await scim('POST', 'Users', oktaUser(name))
      t.not(again.body.id, id, 'no id is used twice')
      t.same(await members(), [member], 'he is the same member')
      await eventually(async () => (await call(tokenOf(name))) === 200)
    })

    await t.test('groups give roles and accounts', async t => {
      const bob = (await scim('POST', 'Users', oktaUser('bob@x.test'))).body
      const group = async (displayName: string) =>
        (
          await scim('POST', 'Groups', {
            schemas: [GROUP],
            externalId: `e-${displayName}`,
            displayName,
          })
        ).body.id
      const [admins, readers, research] = [
        await group('Admins'),
        await group('Readers'),
        await group('Research'),
      ]
      const roleOf = async (account = 'acme') =>
        (await members(account)).find(each => each.name === 'bob@x.test')?.role
      const change = async (id: string, ...operations: object[]) => {
        const reply = await scim('PATCH', `Groups/${id}`, patchBody(...operations))
        t.equal(reply.status, 200, JSON.stringify(reply.body))
        return reply.body
      }
      const add = { op: 'Add', path: 'members', value: [{ $ref: null, value: bob.id }] }
      await change(readers, add)
      t.equal(await roleOf(), 'viewer')
      await change(admins, add)
      t.equal(await roleOf(), 'admin', 'the role with the most rights')
      t.match((await scim('GET', `Users/${bob.id}`)).body.groups, [
        { value: admins, display: 'Admins' },
        { value: readers, display: 'Readers' },
      ])
      await change(admins, { op: 'remove', path: `members[value eq "${bob.id}"]` })
      t.equal(await roleOf(), 'viewer')
      await change(readers, { op: 'replace', value: { id: readers, displayName: 'Others' } })
      t.equal(await roleOf(), 'member', 'a group of another name gives nothing')
      await change(research, add)
      t.equal(await roleOf('acme'), undefined)
      t.equal(await roleOf('research'), 'member', 'another team')
      const excluded = (await scim('GET', `Groups/${research}?excludedAttributes=members`)).body
      t.match(excluded, { id: research, displayName: 'Research' })
      t.notOk('members' in excluded)
      t.equal((await scim('DELETE', `Groups/${research}`)).status, 204)
      t.equal(await roleOf('research'), undefined)
      t.equal(await roleOf('acme'), 'member')
      const listed = await scim(
        'GET',
        `Groups?excludedAttributes=members&filter=${encodeURIComponent('displayName eq "admins"')}`,
      )
      t.match(listed.body, { totalResults: 1, Resources: [{ id: admins }] })
      const twice = await scim('POST', 'Groups', { displayName: 'ADMINS' })
      t.match(twice, { status: 409, body: { scimType: 'uniqueness' } })
      const unknown = await scim('POST', 'Groups', {
        displayName: 'New',
        members: [{ value: '999' }],
      })
      t.equal(unknown.status, 404)
    })

    await t.test('changes at the same time all count', async t => {
      const created = await Promise.all(
        Array.from({ length: 6 }, (_, index) =>
          scim('POST', 'Users', oktaUser(`user${index}@many.test`)),
        ),
      )
      t.same(new Set(created.map(each => each.status)), new Set([201]))
      const ids = created.map(each => each.body.id)
      const { body } = await scim(
        'GET',
        `Groups?filter=${encodeURIComponent('displayName eq "Admins"')}`,
      )
      const { id } = body.Resources[0]
      await Promise.all(
        ids.map(value =>
          scim(
            'PATCH',
            `Groups/${id}`,
            patchBody({ op: 'add', path: 'members', value: [{ value }] }),
          ),
        ),
      )
      const group = await scim('GET', `Groups/${id}`)
      t.same(group.body.members.map((each: { value: string }) => each.value).sort(), ids.sort())
      const roles = (await members()).filter(each => String(each.name).endsWith('@many.test'))
      t.same(new Set(roles.map(each => each.role)), new Set(['admin']))
      const page = async (query: string) => (await scim('GET', `Users?${query}`)).body
      t.match(await page('startIndex=2&count=3'), {
        totalResults: 8,
        startIndex: 2,
        itemsPerPage: 3,
      })
      t.match(await page('startIndex=100'), { totalResults: 8, itemsPerPage: 0, Resources: [] })
      t.match(await page('count=0'), { totalResults: 8, itemsPerPage: 0 })
      const all = [...(await page('count=5')).Resources, ...(await page('startIndex=6')).Resources]
      t.equal(new Set(all.map((each: { id: string }) => each.id)).size, 8)
    })

    await t.test('a member whom the team removes is not active; two users are not one', async t => {
      const { body } = await scim('POST', 'Users', oktaUser('eve@x.test'))
      await admin('POST', 'members/remove', { account: 'acme', member: 'eve@x.test' })
      t.equal((await scim('GET', `Users/${body.id}`)).body.active, false)
      const rename = { op: 'replace', path: 'displayName', value: 'Eve' }
      t.equal((await scim('PATCH', `Users/${body.id}`, patchBody(rename))).body.active, false)
      t.notOk((await members()).some(each => each.name === 'eve@x.test'))
      for (const Operations of [
        { op: 'remove', path: 'active' },
        { op: 'add', path: 'active', value: null },
      ]) {
        const removal = await scim('PATCH', `Users/${body.id}`, patchBody(Operations))
        t.match(removal, { status: 400, body: { scimType: 'invalidValue' } })
      }
      const sameName = { op: 'replace', path: 'userName', value: 'BOB@x.test' }
      const reply = await scim('PATCH', `Users/${body.id}`, patchBody(sameName))
      t.match(reply, { status: 409, body: { scimType: 'uniqueness' } })
    })

    await t.test('what is not valid gets an error of SCIM', async t => {
      const refused = async (reply: Promise<object>, status: number, scimType?: string) =>
        t.match(await reply, {
          status,
          body: { schemas: [ERROR], status: String(status), ...(scimType && { scimType }) },
        })
      await refused(scim('POST', 'Users', '{'), 400, 'invalidSyntax')
      await refused(scim('POST', 'Users', '[]'), 400, 'invalidSyntax')
      await refused(scim('POST', 'Users', {}), 400, 'invalidValue')
      await refused(scim('POST', 'Users', { userName: '4711' }), 400, 'invalidValue')
      await refused(scim('POST', 'Users', { userName: 'a:b' }), 400, 'invalidValue')
      await refused(scim('POST', 'Users', { userName: 'big', x: 'a'.repeat(1_100_000) }), 413)
      await refused(scim('GET', 'Users?filter=userName%20co%20%22a%22'), 400, 'invalidFilter')
      await refused(scim('GET', 'Users?count=many'), 400, 'invalidValue')
      await refused(scim('GET', 'Users/x'), 404)
      await refused(scim('PATCH', 'Users/1', patchBody({ op: 'remove' })), 404)
      await refused(scim('POST', 'Users/1', {}), 405)
    })

    await t.test('each change is a row of the log of actions', async t => {
      const rows = await admin('GET', 'actions?operation=scim&limit=200')
      const operations = new Set(rows.map(each => each.operation))
      for (const verb of ['create', 'update', 'delete'])
        for (const kind of ['user', 'group']) t.ok(operations.has(`scim ${verb}-${kind}`))
      const last = rows.find(each => each.operation === 'scim create-user')
      t.match(last, {
        via: 'SCIM',
        actor: 'identity provider',
        address: '127.0.0.1',
        before: null,
        after: { userName: 'eve@x.test', active: true, account: 'acme', role: 'member' },
      })
      const groupChange = rows.find(each =>
        JSON.stringify(each.before ?? '').includes('"displayName":"Readers"'),
      )
      t.match(groupChange, {
        before: { members: [{ account: 'acme', name: 'bob@x.test', role: 'viewer' }] },
        after: { displayName: 'Others', members: [{ account: 'acme', role: 'member' }] },
      })
      t.notMatch(JSON.stringify(rows), /1mz050nq/)
      const refused = await admin('GET', 'actions?operation=access%20refused')
      t.match(refused.at(-1), { via: 'SCIM', actor: 'unknown', after: { reason: 'SCIM_TOKEN' } })
      t.equal(refused.length, 4)
      t.match(await admin('GET', 'actions/verify'), { findings: [] })
    })
  })
