/** A compiled upstream: addresses, rotating keys, set headers, deadlines, joined paths. */
import t, { type Test } from 'tap'
import {
  compileUpstream,
  readDeadlines,
  type UpstreamOptions,
} from '../../../engine/config/compile/upstreams.ts'
import { candidatesOf } from '../../../engine/upstream/candidate.ts'
import type { Origin } from '../../../engine/upstream/origin.ts'
import { joinPath, type Upstream } from '../../../engine/upstream/upstreams.ts'

/** Compiles one; `asked` is what it wanted to share. */
const compiled = (t: Test, options: UpstreamOptions, name = 'gp') => {
  const asked: { key: string; version: string }[] = []
  const upstream = compileUpstream(name, options, (key, version, create) => {
    asked.push({ key, version })
    const made = create()
    t.teardown(() => (made as unknown as Origin).close())
    return made
  })
  return { upstream, asked }
}
const URL_OF = 'http://127.0.0.1:9/v1'
/** What these many requests to `/x` would carry: the path, then the headers. */
const signed = (upstream: Upstream, count: number, path = '/x'): unknown[] =>
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
for (const [base, path, joined] of JOINS)
  t.test(`"${base}" and "${path}" is "${joined}"`, async t => t.equal(joinPath(base, path), joined))

t.test('upstream: has one or several addresses, with paths', async t => {
  const one = compiled(t, { url: 'https://api.test:444/v1/' })
  t.same(one.asked, [{ key: 'origin https://api.test:444', version: '5000/128' }])
  t.match(one.upstream, { name: 'gp', inside: undefined })
  t.match(one.upstream.origins, [{ base: '/v1', origin: { address: 'https://api.test:444' } }])
  const two = compiled(t, {
    url: ['http://a.test', 'http://b.test/x/y'],
    connections: 7,
    timeout: { connect: '2s' },
  })
  t.same(
    two.asked.map(({ key, version }) => `${key} ${version}`),
    ['origin http://a.test 2000/7', 'origin http://b.test 2000/7'],
  )
  t.same(
    two.upstream.origins.map(({ base }) => base),
    ['', '/x/y'],
  )
  t.throws(() => compiled(t, { url: 'nowhere' }), { code: 'ERR_INVALID_URL' })
})

t.test('upstream: an inside address is a plugin, without a pool', async t => {
  const { upstream, asked } = compiled(t, { url: 'sandbox:', formats: ['a'] })
  t.equal(upstream.inside, 'sandbox')
  t.same(asked, [{ key: 'inside gp', version: '' }])
  t.equal(upstream.origins[0]?.origin.pool, undefined)
  t.same(upstream.view, { inside: 'sandbox', options: { formats: ['a'] } })
})

t.test('upstream: plugins see their own keys, and neither address nor credential', async t => {
  const { upstream } = compiled(t, {
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
  const plain = compiled(t, { url: URL_OF }).upstream
  t.same(plain.deadlines, { connect: 5_000, first_byte: 120_000, idle: 60_000 })
  t.same(plain.health, { failures: 5, eject: 10_000 })
  t.same(plain.set, {})
  const said = compiled(t, {
    url: URL_OF,
    timeout: { connect: '1s', first_byte: '2m', idle: '250ms' },
    health: { failures: 2, eject: '1m' },
    headers: { set: { 'x-a': '1' }, pass: ['x-b'] },
  }).upstream
  t.same(said.deadlines, { connect: 1_000, first_byte: 120_000, idle: 250 })
  t.same(said.health, { failures: 2, eject: 60_000 })
  t.same(said.set, { 'x-a': '1' })
  t.same(said.pass({ 'x-b': '1', 'x-c': '2' }), { 'x-b': '1' })
  t.same(readDeadlines({ idle: '1s' }, said.deadlines), { ...said.deadlines, idle: 1_000 })
  t.same(readDeadlines(undefined, said.deadlines), said.deadlines)
  t.throws(() => compiled(t, { url: URL_OF, timeout: { idle: 'soon' } }), /not a duration/)
})

t.test('upstream: a key is a bearer token by default; several rotate', async t => {
  const one = compiled(t, { url: URL_OF, key: 'k1' }).upstream
  t.same(signed(one, 2), Array(2).fill(['/x', { authorization: 'Bearer k1' }]))
  const three = compiled(t, { url: URL_OF, key: ['k1', '', 'k2', 'k3'], auth: 'bearer' }).upstream
  t.same(
    signed(three, 4).map(each => JSON.stringify(each).match(/k\d/)?.[0]),
    ['k1', 'k2', 'k3', 'k1'],
    'an empty one (a variable that is not set) is none',
  )
})

t.test('upstream: a key in a header', async t => {
  const { upstream } = compiled(t, { url: URL_OF, key: ['k1', 'k2'], auth: { header: 'X-Key' } })
  t.same(signed(upstream, 2), [
    ['/x', { 'x-key': 'k1' }],
    ['/x', { 'x-key': 'k2' }],
  ])
})

t.test('upstream: a key in the query', async t => {
  const { upstream } = compiled(t, { url: URL_OF, key: ['k 1', 'k&2'], auth: { query: 'key' } })
  t.same(signed(upstream, 1), [['/x?key=k%201', {}]])
  t.same(signed(upstream, 1, '/x?a=1'), [['/x?a=1&key=k%262', {}]])
})

t.test('upstream: without a key, or with auth none, nothing is signed', async t => {
  for (const options of [{}, { key: '' }, { key: [''] }, { key: 'k', auth: 'none' as const }])
    t.same(signed(compiled(t, { url: URL_OF, ...options }).upstream, 1), [['/x', {}]])
})

t.test('candidates: every target at every address, in the order of the targets', async t => {
  const a = compiled(t, { url: ['http://a1.test', 'http://a2.test/v1'] }, 'a').upstream
  const b = compiled(t, { url: 'http://b.test' }, 'b').upstream
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
