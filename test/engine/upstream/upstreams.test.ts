/** A compiled upstream: addresses, rotating keys, set headers, deadlines, joined paths. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { deadlinesByUpstream } from '../../../engine/config/compile/route-options.ts'
import { compileUpstream, type UpstreamOptions } from '../../../engine/config/compile/upstreams.ts'
import { fileSource, read } from '../../../engine/config/read.ts'
import { ROUTE } from '../../../engine/config/sections/route.ts'
import { candidatesOf } from '../../../engine/upstream/candidate.ts'
import type { Origin } from '../../../engine/upstream/origin.ts'
import { joinPath, type Upstream } from '../../../engine/upstream/upstreams.ts'

const ROOT = join(import.meta.dirname, '../../..')

/** Compiles an upstream; `sharedKeys` lists the keys and versions of its shared resources. */
const compile = (t: Test, options: UpstreamOptions, name = 'gp') => {
  const sharedKeys: { key: string; version: string }[] = []
  const upstream = compileUpstream(name, options, (key, version, create) => {
    sharedKeys.push({ key, version })
    const resource = create()
    t.teardown(() => (resource as unknown as Origin).close())
    return resource
  })
  return { upstream, sharedKeys }
}
const URL_OF = 'http://127.0.0.1:9/v1'
/** Signs `count` requests to `/x`: the path and the headers of each. */
const signRequests = (upstream: Upstream, count: number, path = '/x'): unknown[] =>
  Array.from({ length: count }, () => {
    const headers = {}
    return [upstream.sign(headers, path), headers]
  })

const JOINS: readonly (readonly [base: string, path: string, joined: string])[] = [
  ['', '/v1/x', '/v1/x'],
  ['/v1', '/v1/x', '/v1/x'],
  ['/v1', '/v1', '/v1'],
  ['/v1', '/v1x', '/v1/v1x'],
  ['/v1', '/v1beta/x', '/v1/v1beta/x'],
  ['/v1', '/x', '/v1/x'],
  ['/api/v1', '/v1/x', '/api/v1/x'],
  ['/api/v1', '/api/v1/x', '/api/v1/x'],
  ['/api/v1', '/api/x', '/api/v1/api/x'],
  ['/api/v1', '/x/v1', '/api/v1/x/v1'],
  ['/a/a', '/a/x', '/a/a/x'],
  ['/a/a', '/a/a/x', '/a/a/x'],
  ['/v1', '/', '/v1/'],
  ['/v1', '/v1?a=1', '/v1?a=1'],
  ['/v1', '/v1/x?a=/v1', '/v1/x?a=/v1'],
]
for (const [base, path, expected] of JOINS)
  t.test(`joinPath: base "${base}" and path "${path}" are "${expected}"`, async t =>
    t.equal(joinPath(base, path), expected),
  )

t.test('upstream: has one or several addresses, with paths', async t => {
  const one = compile(t, { url: 'https://api.test:444/v1/' })
  t.same(one.sharedKeys, [{ key: 'origin https://api.test:444', version: '5000/128' }])
  t.match(one.upstream, { name: 'gp', inside: undefined })
  t.match(one.upstream.origins, [{ base: '/v1', origin: { address: 'https://api.test:444' } }])
  const two = compile(t, {
    url: ['http://a.test', 'http://b.test/x/y'],
    connections: 7,
    timeout: { connect: '2s' },
  })
  t.same(
    two.sharedKeys.map(({ key, version }) => `${key} ${version}`),
    ['origin http://a.test 2000/7', 'origin http://b.test 2000/7'],
  )
  t.same(
    two.upstream.origins.map(({ base }) => base),
    ['', '/x/y'],
  )
  t.throws(() => compile(t, { url: 'nowhere' }), { code: 'ERR_INVALID_URL' })
})

t.test('upstream: an inside address is a plugin, without a pool', async t => {
  const { upstream, sharedKeys } = compile(t, { url: 'sandbox:', formats: ['a'] })
  t.equal(upstream.inside, 'sandbox')
  t.same(sharedKeys, [{ key: 'inside gp', version: '' }])
  t.equal(upstream.origins[0]?.origin.pool, undefined)
  t.same(upstream.view, { inside: 'sandbox', options: { formats: ['a'] } })
})

t.test('upstream: plugins see their own keys, and neither address nor credential', async t => {
  const { upstream } = compile(t, {
    url: URL_OF,
    key: 'secret',
    auth: 'bearer',
    timeout: {},
    connections: 1,
    headers: {},
    health: {},
    formats: ['a', 'b'],
    region: 'eu',
  })
  t.same(upstream.view, { options: { formats: ['a', 'b'], region: 'eu' } })
})

t.test('upstream: omitted settings have defaults', async t => {
  const plain = compile(t, { url: URL_OF }).upstream
  t.same(plain.deadlines, {
    connect: 5_000,
    first_byte: 120_000,
    first_content: Number.POSITIVE_INFINITY,
    preamble: 5_000,
    idle: 60_000,
  })
  t.same(plain.health, { failures: 5, eject: 10_000 })
  t.same(plain.set, {})
  const custom = compile(t, {
    url: URL_OF,
    timeout: {
      connect: '1s',
      first_byte: '2m',
      first_content: '20s',
      preamble: '0s',
      idle: '250ms',
    },
    health: { failures: 2, eject: '1m' },
    headers: { set: { 'x-a': '1' }, pass: ['x-b'] },
  }).upstream
  t.same(custom.deadlines, {
    connect: 1_000,
    first_byte: 120_000,
    first_content: 20_000,
    preamble: 0,
    idle: 250,
  })
  t.same(custom.health, { failures: 2, eject: 60_000 })
  t.same(custom.set, { 'x-a': '1' })
  t.same(custom.pass({ 'x-b': '1', 'x-c': '2' }), { 'x-b': '1' })
  const onRoute = (more: object) => deadlinesByUpstream(ROUTE.read({ path: 'GET /', ...more }))
  t.same(onRoute({ timeout: { idle: '1s' } })(custom), { ...custom.deadlines, idle: 1_000 })
  t.same(onRoute({})(custom), custom.deadlines)
  t.throws(() => compile(t, { url: URL_OF, timeout: { idle: 'soon' } }), /not a duration/)
})

t.test('upstream: a key is a bearer token by default; several rotate', async t => {
  const one = compile(t, { url: URL_OF, key: 'k1' }).upstream
  t.same(signRequests(one, 2), Array(2).fill(['/x', { authorization: 'Bearer k1' }]))
  const three = compile(t, { url: URL_OF, key: ['k1', '', 'k2', 'k3'], auth: 'bearer' }).upstream
  t.same(
    signRequests(three, 4).map(each => JSON.stringify(each).match(/k\d/)?.[0]),
    ['k1', 'k2', 'k3', 'k1'],
    'an empty key (a variable that is not set) is ignored',
  )
})

t.test('upstream: a key is sent in the configured header', async t => {
  const { upstream } = compile(t, { url: URL_OF, key: ['k1', 'k2'], auth: { header: 'X-Key' } })
  t.same(signRequests(upstream, 2), [
    ['/x', { 'x-key': 'k1' }],
    ['/x', { 'x-key': 'k2' }],
  ])
})

t.test('upstream: a key is sent with the configured scheme', async t => {
  const { upstream } = compile(t, { url: URL_OF, key: ['k1', 'k2'], auth: { scheme: 'Token' } })
  t.same(signRequests(upstream, 2), [
    ['/x', { authorization: 'Token k1' }],
    ['/x', { authorization: 'Token k2' }],
  ])
})

t.test('upstream: with a key the provider replaces a plugin, and no other address', async t => {
  const addressOf = (url: string, key: string): unknown => {
    const { inside, origins } = compile(t, { url, key, provider: 'https://api.test' }).upstream
    return inside ?? origins[0]?.origin.address
  }
  t.equal(addressOf('sandbox:', ''), 'sandbox')
  t.equal(addressOf('sandbox:', 'k'), 'https://api.test')
  t.equal(addressOf(URL_OF, 'k'), 'http://127.0.0.1:9')
})

t.test('shipped upstream of Vidu: a key alone leads to Vidu, an address elsewhere', async t => {
  const shipped = (env: Readonly<Record<string, string>>) => {
    const { document } = read(join(ROOT, 'routes.yaml'), fileSource(env))
    const { vd } = document.upstreams as unknown as { readonly vd: UpstreamOptions }
    const { upstream } = compile(t, vd)
    const [, headers] = signRequests(upstream, 1)[0] as readonly unknown[]
    return [upstream.inside ?? upstream.origins[0]?.origin.address, headers]
  }
  const key = { VIDU_API_KEY: 'k' }
  const url = { VIDU_BASE_URL: 'http://127.0.0.1:9' }
  t.same(shipped({}), ['sandbox', {}])
  t.same(shipped(url), ['http://127.0.0.1:9', {}])
  t.same(shipped(key), ['https://api.vidu.com', { authorization: 'Token k' }])
  t.same(shipped({ ...key, ...url, VIDU_AUTH: 'Bearer' }), [
    'http://127.0.0.1:9',
    { authorization: 'Bearer k' },
  ])
})

t.test('upstream: a key is sent in the configured query parameter', async t => {
  const { upstream } = compile(t, { url: URL_OF, key: ['k 1', 'k&2'], auth: { query: 'key' } })
  t.same(signRequests(upstream, 1), [['/x?key=k%201', {}]])
  t.same(signRequests(upstream, 1, '/x?a=1'), [['/x?a=1&key=k%262', {}]])
})

t.test('upstream: without a key, or with auth none, nothing is signed', async t => {
  for (const options of [{}, { key: '' }, { key: [''] }, { key: 'k', auth: 'none' as const }])
    t.same(signRequests(compile(t, { url: URL_OF, ...options }).upstream, 1), [['/x', {}]])
})

t.test('candidates: every target at every address, in the order of the targets', async t => {
  const a = compile(t, { url: ['http://a1.test', 'http://a2.test/v1'] }, 'a').upstream
  const b = compile(t, { url: 'http://b.test' }, 'b').upstream
  const all = new Map([
    ['a', a],
    ['b', b],
  ])
  const list = candidatesOf([{ upstream: 'b' }, { upstream: 'gone' }, { upstream: 'a' }], all)
  t.same(
    list.map(({ target, origin, base }) => `${target.upstream} ${origin.address}${base}`),
    ['b http://b.test', 'a http://a1.test', 'a http://a2.test/v1'],
  )
  t.same(candidatesOf([], all), [])
})
