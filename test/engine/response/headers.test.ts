/** Request heads that are accepted, and heads that are refused. */
import t from 'tap'
import {
  checkHead,
  hasBody,
  type RequestHead,
  type RequestHeaders,
  readHead,
} from '../../../engine/response/headers.ts'

const read = (...lines: readonly (readonly [string, string])[]): RequestHeaders =>
  readHead(lines.flat(), 100)

t.test('request head: a record by lower-case name; repeated values are joined', async t => {
  const headers = read(
    ['Host', 'x'],
    ['Accept', 'a'],
    ['ACCEPT', 'b'],
    ['Cookie', 'c=1'],
    ['cookie', 'd=2'],
  )
  t.same({ ...headers }, { host: 'x', accept: 'a, b', cookie: 'c=1; d=2' })
  t.equal(headers.tostring, undefined, 'it has no inherited members')
  t.notOk('toString' in headers)
})

t.test('request head: a second value of a single header is refused', async t => {
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

t.test('request head: names of object members are refused', async t => {
  for (const name of ['__proto__', '__PROTO__', 'constructor', 'prototype', 'hasOwnProperty'])
    t.throws(() => read([name, '1']), { code: 'HEAD_MALFORMED', status: 400 }, name)
})

t.test('request head: the limit of headers is exact', async t => {
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

const createHead = (more: Partial<RequestHead>, headers: RequestHeaders = {}): RequestHead => ({
  method: 'POST',
  target: '/',
  version: '1.1',
  urlLimit: 100,
  ...more,
  headers: { host: 'api.test', ...headers },
})

t.test('request head: valid heads are accepted', async t => {
  const hosts = ['a', 'a.b:80', '127.0.0.1:8080', '[::1]', '[::1]:80', 'a_b.test', 'A-1.test:65535']
  for (const host of hosts) t.doesNotThrow(() => checkHead(createHead({}, { host })), host)
  for (const good of [
    createHead({ method: 'GET' }),
    createHead({ method: 'GET' }, { 'content-length': '0' }),
    createHead({ method: 'DELETE' }, { 'content-length': '5' }),
    createHead({}, { 'transfer-encoding': 'Chunked' }),
    createHead({}, { expect: '100-Continue', 'content-length': '5' }),
    createHead({ target: `/${'x'.repeat(99)}` }),
    createHead({ version: '1.0' }),
  ])
    t.doesNotThrow(() => checkHead(good))
  t.doesNotThrow(
    () => checkHead({ ...createHead({ version: '1.0' }), headers: {} }),
    'HTTP/1.0 needs no Host',
  )
})

t.test('request head: ambiguous heads are refused', async t => {
  const bad: Readonly<Record<string, readonly [RequestHead, string, number]>> = {
    'a long target': [createHead({ target: `/${'x'.repeat(100)}` }), 'URL_TOO_LONG', 414],
    'HTTP/0.9': [createHead({ version: '0.9' }), 'HEAD_MALFORMED', 400],
    'HTTP/2.0': [createHead({ version: '2.0' }), 'HEAD_MALFORMED', 400],
    'no host': [{ ...createHead({}), headers: {} }, 'HEAD_MALFORMED', 400],
    'both lengths': [
      createHead({}, { 'transfer-encoding': 'chunked', 'content-length': '5' }),
      'HEAD_MALFORMED',
      400,
    ],
    'chunked in HTTP/1.0': [
      createHead({ version: '1.0' }, { 'transfer-encoding': 'chunked' }),
      'HEAD_MALFORMED',
      400,
    ],
    'another coding': [createHead({}, { 'transfer-encoding': 'gzip' }), 'HEAD_MALFORMED', 400],
    'two codings': [
      createHead({}, { 'transfer-encoding': 'gzip, chunked' }),
      'HEAD_MALFORMED',
      400,
    ],
    'a coding that is nearly chunked': [
      createHead({}, { 'transfer-encoding': 'xchunked' }),
      'HEAD_MALFORMED',
      400,
    ],
    'another expectation': [createHead({}, { expect: '200-ok' }), 'EXPECTATION_FAILED', 417],
    'GET with a length': [
      createHead({ method: 'GET' }, { 'content-length': '5' }),
      'HEAD_MALFORMED',
      400,
    ],
    'HEAD with chunks': [
      createHead({ method: 'HEAD' }, { 'transfer-encoding': 'chunked' }),
      'HEAD_MALFORMED',
      400,
    ],
  }
  for (const [what, [head, code, status]] of Object.entries(bad))
    t.throws(() => checkHead(head), { code, status }, what)
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
    t.throws(
      () => checkHead(createHead({}, { host })),
      { code: 'HEAD_MALFORMED' },
      `host "${host}"`,
    )
})

t.test('request head: decides whether there is a body', async t => {
  t.equal(hasBody({}), false)
  t.equal(hasBody({ 'content-length': '0' }), false)
  t.equal(hasBody({ 'content-length': '1' }), true)
  t.equal(hasBody({ 'transfer-encoding': 'chunked' }), true)
})
