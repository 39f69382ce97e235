/** Headers that pass to an upstream, and headers that pass to the client. */
import t from 'tap'
import { createPassRule } from '../../../engine/config/compile/pass-rule.ts'
import { responseHeaders } from '../../../engine/response/headers.ts'
import fc from '../../helpers/property.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'

const RUNS = shortOrLong(1_000, 100_000)

t.test('request headers: only listed ones pass to the upstream', async t => {
  const usual = {
    accept: 'a',
    'accept-language': 'b',
    'content-type': 'c',
    'user-agent': 'd',
    range: 'e',
    'idempotency-key': 'f',
  }
  const client = {
    ...usual,
    'x-one': '1',
    'x-two': '2',
    'vendor-a': '3',
    'vendor-b': '4',
    other: '5',
  }
  t.same(createPassRule([])(client), usual)
  t.same(createPassRule(['X-One', 'Vendor-*'])(client), {
    ...usual,
    'x-one': '1',
    'vendor-a': '3',
    'vendor-b': '4',
  })
  t.same(createPassRule(['x-one'])({}), {}, 'absent headers are not added')
})

const NEVER = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'authorization',
  'cookie',
  'host',
  'content-length',
  'content-encoding',
  'expect',
  'accept-encoding',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'x-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
]
t.test('request headers: forbidden ones never pass, in any spelling of the list', async t => {
  const client = Object.fromEntries(NEVER.map(name => [name, 'secret']))
  for (const extra of [NEVER, NEVER.map(name => name.toUpperCase()), ['*'], ['x-*', 'c*', 'AUTH*']])
    t.same(createPassRule(extra)(client), {}, extra.slice(0, 3).join())
})

t.test(
  'request headers: credentials of plugins never pass, in any spelling of the list',
  async t => {
    const client = { 'x-secret': 'secret', 'x-one': '1' }
    for (const extra of [['x-secret', 'x-one'], ['X-SECRET', 'X-*'], ['*']])
      t.same(createPassRule(extra, ['x-secret'])(client), { 'x-one': '1' }, extra.join())
  },
)

const SPELLINGS = [
  (name: string) => name,
  (name: string) => name.toUpperCase(),
  (name: string) => `close, ${name}`,
  (name: string) => `keep-alive,\t${name} ,`,
  (name: string) => `,,  ${name}  ,,x`,
]
t.test('hop-by-hop headers: names in Connection do not pass, in any spelling', async t => {
  for (const spell of SPELLINGS) {
    const connection = spell('x-inner')
    t.same(createPassRule(['x-*'])({ connection, 'x-inner': '1', 'x-outer': '2' }), {
      'x-outer': '2',
    })
    t.same(createPassRule(['x-inner'])({ connection, 'x-inner': '1' }), {})
    t.same(responseHeaders({ connection, 'x-inner': '1', 'x-outer': '2' }), { 'x-outer': '2' })
    t.same(
      createPassRule([])({ connection: spell('Accept'), accept: '1' }),
      {},
      'also one that passes by default',
    )
  }
  t.same(responseHeaders({ connection: ['close', 'X-Inner'], 'x-inner': '1' }), {}, 'in two lines')
})

t.test('hop-by-hop headers: no name in Connection passes in either direction', async t => {
  const names = fc.constantFrom(
    'accept',
    'x-a',
    'x-b',
    'range',
    'user-agent',
    'etag',
    'x-request-id',
  )
  const spelling = fc.tuple(names, fc.constantFrom(...SPELLINGS), fc.boolean())
  const heads = fc.record({
    connectionNames: fc.array(spelling, { maxLength: 4 }),
    all: fc.uniqueArray(names),
  })
  const up = createPassRule(['x-a', 'x-*', '*'])
  fc.assert(
    fc.property(heads, ({ connectionNames, all }) => {
      const connection = connectionNames
        .map(([name, spell, isUpperCase]) => spell(isUpperCase ? name.toUpperCase() : name))
        .join(',')
      const headers = { ...Object.fromEntries(all.map(name => [name, '1'])), connection }
      const output = { ...up(headers), ...responseHeaders(headers) }
      const passing = all.filter(name => !connectionNames.some(([each]) => each === name))
      return (
        connectionNames.every(([name]) => !(name in output)) &&
        Object.keys(responseHeaders(headers)).length === passing.length &&
        Object.keys(up(headers)).length === passing.length
      )
    }),
    { numRuns: RUNS },
  )
  t.pass()
})

t.test('response headers: those of connection, cookies, host and gateway do not pass', async t => {
  const connectionHeaders = [
    'keep-alive',
    'proxy-connection',
    'proxy-authenticate',
    'proxy-authorization',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'set-cookie2',
    'alt-svc',
    'server',
    'date',
    'strict-transport-security',
    'public-key-pins',
    'traceparent',
    'tracestate',
    'x-tollgate-version',
    'x-tollgate-anything',
    '__proto__',
    'constructor',
    'prototype',
  ]
  const upstreamHeaders: Record<string, string | string[] | undefined> = Object.create(null)
  for (const name of connectionHeaders) upstreamHeaders[name] = '1'
  upstreamHeaders['set-cookie'] = ['a=1', 'b=2']
  upstreamHeaders.connection = 'keep-alive'
  upstreamHeaders.absent = undefined
  const headers = responseHeaders(upstreamHeaders)
  t.same(Object.keys(headers), [])
  t.equal(Object.getPrototypeOf(headers), Object.prototype, 'the prototype is unchanged')
  const allowedHeaders = { 'content-type': 'a', 'content-length': '1', etag: 'b', vary: ['a', 'b'] }
  t.same(responseHeaders(allowedHeaders), allowedHeaders)
})

t.test("response headers: the upstream's request id passes under another name", async t => {
  t.same(responseHeaders({ 'x-request-id': 'theirs' }), { 'x-upstream-request-id': 'theirs' })
})
