/** Requests that are refused before routing, and unknown paths: errors in the dialect of the
 *  nearest route. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { rawClient, replies } from '../../helpers/gateway/raw-client.ts'
import { gateway, key, postWithKey } from './shipped-gateway.ts'

/** Members of an error of each dialect. */
const DIALECTS = {
  openai: { error: { type: String, message: String, status: undefined } },
  anthropic: { type: 'error', error: { type: String, message: String }, request_id: /^req_/ },
  google: { error: { code: Number, status: /^[A-Z_]+$/, message: String } },
  vidu: { code: Number, reason: String, message: String, metadata: { trace_id: String } },
  midjourney: { description: String, type: String, code: Number },
  envelope: { success: false, message: String },
} as const
type Lines = readonly string[]
const GOOGLE_KEY = 'x-goog-api-key: k'
/** Paths of each dialect; `*` is the place of a parameter, or a segment behind the path. */
const PATHS: readonly (readonly [path: string, dialect: keyof typeof DIALECTS, ...Lines])[] = [
  ['/v1/chat/completions/*', 'openai'],
  ['/v1/models/*', 'openai'],
  ['/v1/models/*', 'google', GOOGLE_KEY],
  ['/v1/models/*', 'anthropic', 'anthropic-version: 2023-06-01'],
  ['/v1/elsewhere/*', 'google', GOOGLE_KEY],
  ['/v1/messages/*', 'anthropic'],
  ['/v1/messages/batches/*/results', 'anthropic'],
  ['/v1beta/models/*', 'google'],
  ['/v1beta/interactions/*/cancel', 'google'],
  ['/v1beta/nothing/*', 'google'],
  ['/v1/models/*:embedContent', 'google'],
  ['/v1/models/*:countTokens', 'google'],
  ['/v1/cachedContents/*', 'google'],
  ['/v1/interactions/*', 'google'],
  ['/upload/v1beta/files/*', 'google'],
  ['/ent/v2/tasks/*/creations', 'vidu'],
  ['/mj/task/*/fetch', 'midjourney'],
  ['/*/mj/submit/modal', 'midjourney'],
  ['/*/mj/task/1/nothing', 'midjourney'],
  ['/mj-fast/mj/submit/imagine/*', 'midjourney'],
  ['/api/tasks/*', 'envelope'],
]

/** The text of a request that is refused before a route has it, from path and headers. */
type Refused = (path: string, own: Lines) => string
const request = (line: string, lines: Lines, body = ''): string =>
  `${[line, 'host: x', ...lines, '', ''].join('\r\n')}${body}`
const inPath =
  (text: string): Refused =>
  (path, own) =>
    request(`POST ${path.replace('*', text)} HTTP/1.1`, own)
const withLines =
  (...lines: Lines): Refused =>
  (path, own) =>
    request(`POST ${path.replace('*', 'x')} HTTP/1.1`, [...own, ...lines])
const UPGRADE = ['connection: upgrade', 'upgrade: websocket']

const REFUSED: Readonly<Record<string, readonly [status: number, refused: Refused]>> = {
  'an escaped control character': [400, inPath('a%00b')],
  'an escaped separator': [400, inPath('a%2Fb')],
  'a half escape': [400, inPath('a%zb')],
  'an escape outside of UTF-8': [400, inPath('a%ffb')],
  'a semicolon': [400, inPath('a;b')],
  'dot segments': [400, inPath('a/../b')],
  'a bare control character': [400, inPath('a\x01b')],
  'a space': [400, inPath('a b')],
  'a query with a backslash': [400, (path, own) => request(`GET ${path}?a=\\ HTTP/1.1`, own)],
  'a long query': [
    414,
    (path, own) => request(`GET ${path.replace('*', 'x')}?${'q'.repeat(9_000)} HTTP/1.1`, own),
  ],
  'a long parameter': [414, inPath('p'.repeat(9_000))],
  'a target beyond the size of a head': [431, inPath('p'.repeat(40_000))],
  'a large header': [431, withLines(`x: ${'x'.repeat(20_000)}`)],
  'headers beyond the size of a head': [431, withLines(`x: ${'x'.repeat(40_000)}`)],
  'many headers': [431, withLines(...Array.from({ length: 300 }, (_, n) => `x${n}: y`))],
  'two hosts': [400, withLines('host: y')],
  'a forbidden name of a header': [400, withLines('__proto__: y')],
  'a control character in a header': [400, withLines('x: \x01')],
  'both lengths': [400, withLines('content-length: 1', 'transfer-encoding: chunked')],
  'a coding other than chunked': [400, withLines('transfer-encoding: gzip, chunked')],
  'an unknown expectation': [417, withLines('expect: nosuch')],
  'a body on GET': [
    400,
    (path, own) =>
      request(`GET ${path.replace('*', 'x')} HTTP/1.1`, [...own, 'content-length: 2'], '{}'),
  ],
  'another version': [400, (path, own) => request(`GET ${path.replace('*', 'x')} HTTP/1.2`, own)],
  'a WebSocket with a bad path': [
    400,
    (path, own) => request(`GET ${path.replace('*', 'a%00b')} HTTP/1.1`, [...own, ...UPGRADE]),
  ],
  'a WebSocket on a path without one': [
    0,
    (path, own) => request(`GET ${path.replace('*', 'x')} HTTP/1.1`, [...own, ...UPGRADE]),
  ],
  'a path or method without a route': [
    0,
    (path, own) => request(`PUT ${path.replace('*', 'x')} HTTP/1.1`, own),
  ],
}
for (const [what, [status, refused]] of Object.entries(REFUSED))
  t.test(`early refusal, ${what}: in the dialect of the path`, async t => {
    await Promise.all(
      PATHS.map(async ([path, dialect, ...own]) => {
        const client = await rawClient(gateway)
        await client.send(refused(path, own))
        await client.until(received => replies(received).some(({ whole }) => whole))
        const [reply] = replies(client.text())
        client.close()
        const name = `${path} ${own}`
        t.match(JSON.parse(reply?.body ?? '{}'), DIALECTS[dialect], name)
        t.match(reply?.headers, { 'content-type': 'application/json', 'x-request-id': /^req_/ })
        const isExpected = status === 0 ? [404, 405] : [status]
        t.ok(isExpected.includes(reply?.status ?? 0), `${name}: ${reply?.status}`)
      }),
    )
  })

const VERBS = [...readFileSync('routes.yaml', 'utf8').matchAll(/(GET|POST) (\/\S*\}:\w+)/g)]
/** Text in place of a parameter before a verb. */
const IDS = `a a:b a:download a: :a : :: :download files: a%3Ab %3A %20 a%2Fb %25 %C3%A9 é ..
  %zz a+b %F0%9F%98%80 ${'p'.repeat(5_000)}`.split(/\s+/)

t.test('verbs behind a colon: errors are in the dialect of the path for every id', async t => {
  t.ok(VERBS.length > 10)
  const own = ['content-type: application/json', 'content-length: 2', 'connection: close']
  for (const [, method = '', pattern = ''] of VERBS)
    for (const [credential, ids] of [
      [[`authorization: Bearer ${key}`], ['', ...IDS]],
      [[], ['', 'a:b', 'a:']],
    ] as const)
      await Promise.all(
        ids.map(async id => {
          const client = await rawClient(gateway)
          const line = `${method} ${pattern.replace(/\{\w+\}/, id)} HTTP/1.1`
          await client.send(
            method === 'GET'
              ? request(line, credential)
              : request(line, [...credential, ...own], '{}'),
          )
          await client.until(received => replies(received).some(({ whole }) => whole))
          const [reply] = replies(client.text())
          client.close()
          t.match(JSON.parse(reply?.body ?? '{}'), DIALECTS.google, line.slice(0, 80))
          t.ok([400, 401, 404].includes(reply?.status ?? 0), `${reply?.status}`)
        }),
      )
})

t.test('unknown method: is not found for any path', async t => {
  for (const path of ['/v1beta/models/gp-4.1:nosuch', '/v1/models/gp-4.1:nosuch']) {
    const response = await postWithKey(path, '{}')
    t.equal(response.status, 404, path)
    t.match(await response.json(), { error: { message: String } })
  }
})
