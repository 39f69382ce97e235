/** Which heads are refused, and which headers pass an upstream's door in either direction. */
import fc from 'fast-check'
import t from 'tap'
import {
  type HeadFacts,
  hasBody,
  judgeHead,
  passDown,
  passRule,
  type RequestHeaders,
  readHead,
} from '../../engine/headers.ts'
import { scaled } from '../helpers/long.ts'

const RUNS = scaled(1_000, 100_000)
const read = (...lines: readonly (readonly [string, string])[]): RequestHeaders =>
  readHead(lines.flat(), 100)

t.test('a head is a record by lower-case name; what may repeat is joined', async t => {
  const headers = read(
    ['Host', 'x'],
    ['Accept', 'a'],
    ['ACCEPT', 'b'],
    ['Cookie', 'c=1'],
    ['cookie', 'd=2'],
  )
  t.same({ ...headers }, { host: 'x', accept: 'a, b', cookie: 'c=1; d=2' })
  t.equal(headers.tostring, undefined, 'it has no names of its own')
  t.equal(Object.getPrototypeOf(headers), null)
})

t.test('a second value that would change the meaning of the message is refused', async t => {
  for (const name of ['Host', 'Content-Length', 'Transfer-Encoding', 'Content-Type', 'Expect'])
    for (const [one, two] of [
      ['a', 'a'],
      ['a', 'b'],
    ] as const)
      t.throws(
        () => read([name, one], [name.toUpperCase(), two]),
        { code: 'HEAD_MALFORMED', status: 400, message: new RegExp(`two ${name}`, 'i') },
        `${name}: ${one}, ${two}`,
      )
})

t.test('names that every object has are refused, once is enough', async t => {
  for (const name of ['__proto__', '__PROTO__', 'constructor', 'prototype', 'hasOwnProperty'])
    t.throws(() => read([name, '1']), { code: 'HEAD_MALFORMED', status: 400 }, name)
})

t.test('as many headers as the limit says, and not one more', async t => {
  const lines = (count: number): string[] =>
    Array.from({ length: count }, (_, n) => [`x-${n}`, '1']).flat()
  t.equal(Object.keys(readHead(lines(100), 100)).length, 100)
  t.throws(() => readHead(lines(101), 100), {
    code: 'HEADERS_TOO_MANY',
    status: 431,
    message: 'The request has more than 100 headers.',
  })
  t.throws(
    () => readHead(Array(202).fill('x'), 100),
    { code: 'HEADERS_TOO_MANY' },
    'lines are counted, not names',
  )
})

const facts = (more: Partial<HeadFacts>, headers: RequestHeaders = {}): HeadFacts => ({
  method: 'POST',
  target: '/',
  version: '1.1',
  urlLimit: 100,
  ...more,
  headers: { host: 'api.test', ...headers },
})

t.test('heads that are what they should be', async t => {
  const hosts = ['a', 'a.b:80', '127.0.0.1:8080', '[::1]', '[::1]:80', 'a_b.test', 'A-1.test:65535']
  for (const host of hosts) t.doesNotThrow(() => judgeHead(facts({}, { host })), host)
  for (const good of [
    facts({ method: 'GET' }),
    facts({ method: 'GET' }, { 'content-length': '0' }),
    facts({ method: 'DELETE' }, { 'content-length': '5' }),
    facts({}, { 'transfer-encoding': 'Chunked' }),
    facts({}, { expect: '100-Continue', 'content-length': '5' }),
    facts({ target: `/${'x'.repeat(99)}` }),
    facts({ version: '1.0' }),
  ])
    t.doesNotThrow(() => judgeHead(good))
  t.doesNotThrow(
    () => judgeHead({ ...facts({ version: '1.0' }), headers: {} }),
    'HTTP/1.0 knew no Host',
  )
})

t.test('heads that could mean two things are refused', async t => {
  const bad: Readonly<Record<string, readonly [HeadFacts, string, number]>> = {
    'a long target': [facts({ target: `/${'x'.repeat(100)}` }), 'URL_TOO_LONG', 414],
    'HTTP/0.9': [facts({ version: '0.9' }), 'HEAD_MALFORMED', 400],
    'HTTP/2.0': [facts({ version: '2.0' }), 'HEAD_MALFORMED', 400],
    'no host': [{ ...facts({}), headers: {} }, 'HEAD_MALFORMED', 400],
    'both lengths': [
      facts({}, { 'transfer-encoding': 'chunked', 'content-length': '5' }),
      'HEAD_MALFORMED',
      400,
    ],
    'chunked in HTTP/1.0': [
      facts({ version: '1.0' }, { 'transfer-encoding': 'chunked' }),
      'HEAD_MALFORMED',
      400,
    ],
    'another coding': [facts({}, { 'transfer-encoding': 'gzip' }), 'HEAD_MALFORMED', 400],
    'two codings': [facts({}, { 'transfer-encoding': 'gzip, chunked' }), 'HEAD_MALFORMED', 400],
    'a coding that is nearly chunked': [
      facts({}, { 'transfer-encoding': 'xchunked' }),
      'HEAD_MALFORMED',
      400,
    ],
    'another expectation': [facts({}, { expect: 'a miracle' }), 'EXPECTATION_FAILED', 417],
    'GET with a length': [
      facts({ method: 'GET' }, { 'content-length': '5' }),
      'HEAD_MALFORMED',
      400,
    ],
    'HEAD with chunks': [
      facts({ method: 'HEAD' }, { 'transfer-encoding': 'chunked' }),
      'HEAD_MALFORMED',
      400,
    ],
  }
  for (const [what, [head, code, status]] of Object.entries(bad))
    t.throws(() => judgeHead(head), { code, status }, what)
  const hosts = [
    '',
    ' ',
    'a b',
    'a,b',
    'a/b',
    'user@a',
    'a:b',
    'a:123456',
    '[::1',
    'a:',
    'a?b',
    '[x]',
    'é',
  ]
  for (const host of hosts)
    t.throws(() => judgeHead(facts({}, { host })), { code: 'HEAD_MALFORMED' }, `host "${host}"`)
})

t.test('whether there is a body is told by the head alone', async t => {
  t.equal(hasBody({}), false)
  t.equal(hasBody({ 'content-length': '0' }), false)
  t.equal(hasBody({ 'content-length': '1' }), true)
  t.equal(hasBody({ 'transfer-encoding': 'chunked' }), true)
})

t.test('only what is listed goes up', async t => {
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
  t.same(passRule([])(client), usual)
  t.same(passRule(['X-One', 'Vendor-*'])(client), {
    ...usual,
    'x-one': '1',
    'vendor-a': '3',
    'vendor-b': '4',
  })
  t.same(passRule(['x-one'])({}), {}, 'what is not there is not made up')
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
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'mj-api-secret',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'x-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
]
t.test('what never goes up does not go up, however it is listed', async t => {
  const client = Object.fromEntries(NEVER.map(name => [name, 'secret']))
  for (const extra of [NEVER, NEVER.map(name => name.toUpperCase()), ['*'], ['x-*', 'c*', 'AUTH*']])
    t.same(passRule(extra)(client), {}, extra.slice(0, 3).join())
})

const SPELLINGS = [
  (name: string) => name,
  (name: string) => name.toUpperCase(),
  (name: string) => `close, ${name}`,
  (name: string) => `keep-alive,\t${name} ,`,
  (name: string) => `,,  ${name}  ,,x`,
]
t.test('what Connection names ends here, in odd spellings too', async t => {
  for (const spell of SPELLINGS) {
    const connection = spell('x-inner')
    t.same(passRule(['x-*'])({ connection, 'x-inner': '1', 'x-outer': '2' }), { 'x-outer': '2' })
    t.same(passRule(['x-inner'])({ connection, 'x-inner': '1' }), {})
    t.same(passDown({ connection, 'x-inner': '1', 'x-outer': '2' }), { 'x-outer': '2' })
    t.same(passRule([])({ connection: spell('Accept'), accept: '1' }), {}, 'even a usual one')
  }
  t.same(passDown({ connection: ['close', 'X-Inner'], 'x-inner': '1' }), {}, 'in two lines')
})

t.test('property: nothing named in Connection ever passes, either way', async t => {
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
    named: fc.array(spelling, { maxLength: 4 }),
    all: fc.uniqueArray(names),
  })
  const up = passRule(['x-a', 'x-*', '*'])
  fc.assert(
    fc.property(heads, ({ named, all }) => {
      const connection = named
        .map(([name, spell, loud]) => spell(loud ? name.toUpperCase() : name))
        .join(',')
      const headers = { ...Object.fromEntries(all.map(name => [name, '1'])), connection }
      const sent = { ...up(headers), ...passDown(headers) }
      const kept = all.filter(name => !named.some(([each]) => each === name))
      return (
        named.every(([name]) => !(name in sent)) &&
        Object.keys(passDown(headers)).length === kept.length &&
        Object.keys(up(headers)).length === kept.length
      )
    }),
    { numRuns: RUNS },
  )
  t.pass()
})

t.test(
  'of an upstream, its connection, cookies, host and our own names do not come down',
  async t => {
    const ends = [
      ...['keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization', 'te'],
      ...['trailer', 'transfer-encoding', 'upgrade', 'set-cookie2', 'alt-svc', 'server', 'date'],
      ...['strict-transport-security', 'public-key-pins', 'traceparent', 'tracestate'],
      ...['x-tollgate-version', 'x-tollgate-anything', '__proto__', 'constructor', 'prototype'],
    ]
    const given: Record<string, string | string[] | undefined> = Object.create(null)
    for (const name of ends) given[name] = '1'
    given['set-cookie'] = ['a=1', 'b=2']
    given.connection = 'keep-alive'
    given.absent = undefined
    const headers = passDown(given)
    t.same(Object.keys(headers), [])
    t.equal(Object.getPrototypeOf(headers), Object.prototype, 'whatever it was called')
    const kept = { 'content-type': 'a', 'content-length': '1', etag: 'b', vary: ['a', 'b'] }
    t.same(passDown(kept), kept)
  },
)

t.test('the request id of an upstream stays findable, but is not ours', async t => {
  t.same(passDown({ 'x-request-id': 'theirs' }), { 'x-upstream-request-id': 'theirs' })
})
