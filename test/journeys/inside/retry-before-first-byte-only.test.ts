/** Retries and fallbacks happen only while nothing was sent to the client and the upstream cannot
 *  have acted. */
import t from 'tap'
import { plain, text } from '../../fixtures/upstream/scenarios.ts'
import type { Step } from '../../fixtures/upstream/script.ts'
import { readAll } from '../../helpers/gateway/event-stream.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'
import { scaled } from '../../helpers/machine-speed.ts'

const upstream = await startUpstream()
const [a, b, c, narrow] = await Promise.all(
  ['a', 'b', 'c', 'narrow'].map(name => upstream.listen(name)),
)
const closedPort = await upstream.listen('gone')
await upstream.shut('gone')
const target = (name: string, port = 0, more = ''): string =>
  `${name}: { url: 'http://127.0.0.1:${port}', health: { failures: 1000000 }${more} }`
const HASTY = `, timeout: { first_byte: ${scaled(500)}ms }`
const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors]
upstreams:
  ${target('a', a, HASTY)}
  ${target('b', b)}
  ${target('c', c)}
  ${target('gone', closedPort)}
  ${target('narrow', narrow, `${HASTY}, connections: 1`)}
routes:
  - { path: 'GET|POST /ab/s/{name}', rewrite: '/s/{name}', upstream: [a, b], retries: 0 }
  - { path: 'GET|POST /cb/s/{name}', rewrite: '/s/{name}', upstream: [c, b], retries: 0 }
  - { path: 'GET|POST /gone/s/{name}', rewrite: '/s/{name}', upstream: [gone, b], retries: 0 }
  - { path: 'POST /narrow/s/{name}', rewrite: '/s/{name}', upstream: [narrow, b], retries: 0 }
  - { path: 'POST /narrow-alone/s/{name}', rewrite: '/s/{name}', upstream: narrow, retries: 0 }
  - { path: 'GET|POST /again/s/{name}', rewrite: '/s/{name}', upstream: a, retries: 2 }
`,
})
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))

const STREAM = text(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
)
const JSON_BODY = { headers: { 'content-type': 'application/json' }, body: '{}' }
const body: Step = { do: 'body' }
const busy = (headers = ''): Step[] => [
  body,
  plain({ from: 'a' }, '503 Service Unavailable', headers),
]
const fromA: Step[] = [body, plain({ from: 'a' })]
const fromB: Step[] = [body, plain({ from: 'b' })]

interface Expected {
  readonly method?: 'GET' | 'POST'
  readonly path?: string
  /** The number of requests to each target. */
  readonly requests: { readonly a: number; readonly b: number }
  readonly status: number
  readonly from?: 'a' | 'b'
}
/** The steps of `a`, and the expected result. `b` always answers. */
const cases: Readonly<
  Record<string, readonly [does: readonly (readonly Step[])[], want: Expected]>
> = {
  'a 503 leads to the next target': [
    [busy()],
    { requests: { a: 1, b: 1 }, status: 200, from: 'b' },
  ],
  'a 400 is final': [
    [[body, plain({ from: 'a' }, '400 Bad Request')]],
    { requests: { a: 1, b: 0 }, status: 400, from: 'a' },
  ],
  'a 500 to a POST is final': [
    [[body, plain({ from: 'a' }, '500 Internal Server Error')]],
    { requests: { a: 1, b: 0 }, status: 500, from: 'a' },
  ],
  'a POST is not sent again after a reset': [
    [[body, { do: 'reset' }]],
    { requests: { a: 1, b: 0 }, status: 502 },
  ],
  'a POST is not sent again after a timeout': [
    [[body, { do: 'stall' }]],
    { requests: { a: 1, b: 0 }, status: 504 },
  ],
  'a GET is sent again after a reset': [
    [[{ do: 'reset' }]],
    { method: 'GET', requests: { a: 1, b: 1 }, status: 200, from: 'b' },
  ],
  'a GET is not sent again after the response head': [
    [
      [
        text('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'),
        { do: 'wait', ms: 15 },
        { do: 'reset' },
      ],
    ],
    { method: 'GET', requests: { a: 1, b: 0 }, status: 200 },
  ],
  'a stream is not sent again after its first event': [
    [
      [
        body,
        STREAM,
        { do: 'send', bytes: 'data: 1\n\n', inChunks: true },
        { do: 'wait', ms: 15 },
        { do: 'reset' },
      ],
    ],
    { requests: { a: 1, b: 0 }, status: 200 },
  ],
  'the same target is tried as often as `retries` allows': [
    [busy(), busy(), [body, plain({ from: 'a' })]],
    { path: 'again', requests: { a: 3, b: 0 }, status: 200, from: 'a' },
  ],
  'the same target is not tried more often than `retries` allows': [
    [busy(), busy(), busy(), fromB],
    { path: 'again', requests: { a: 3, b: 0 }, status: 503, from: 'a' },
  ],
  'a request that was not sent goes to another target': [
    [],
    { path: 'gone', requests: { a: 0, b: 1 }, status: 200, from: 'b' },
  ],
}

let count = 0
for (const [behaviour, [does, expected]] of Object.entries(cases))
  t.test(`retry: ${behaviour}`, async t => {
    const name = `case-${++count}`
    await upstream.script(`a:${name}`, ...does)
    await upstream.script(`b:${name}`, fromB)
    const method = expected.method ?? 'POST'
    const response = await fetch(`${gateway.url}/${expected.path ?? 'ab'}/s/${name}`, {
      method,
      ...(method === 'POST' && JSON_BODY),
    })
    const { bytes, broke: failure } = await readAll(response)
    t.equal(response.status, expected.status, 'the status')
    if (expected.from)
      t.equal(JSON.parse(bytes.toString()).from, expected.from, 'the answering target')
    else if (expected.status === 200) t.ok(failure || bytes.includes('"error"'), 'the break shows')
    const requests = await upstream.events('request', name)
    const times = (listener: string): number =>
      requests.filter(event => event.listener === listener).length
    t.strictSame({ a: times('a'), b: times('b') }, expected.requests, 'the requests of each target')
  })

t.test('retry: the last refusal passes with its Retry-After', async t => {
  await upstream.script('a:all', busy('retry-after: 5\r\n'))
  await upstream.script('b:all', [
    body,
    plain({ from: 'b' }, '503 Service Unavailable', 'retry-after: 6\r\n'),
  ])
  const response = await fetch(`${gateway.url}/ab/s/all`, { method: 'POST', ...JSON_BODY })
  t.equal(response.status, 503)
  t.equal(response.headers.get('retry-after'), '6')
  t.strictSame(await response.json(), { from: 'b' })
})

t.test('retry: a target’s Retry-After is respected', async t => {
  await upstream.script('c:pause', [body, plain({}, '429 Too Many Requests', 'retry-after: 9\r\n')])
  await upstream.script('b:pause', fromB)
  for (const total of [2, 3, 4]) {
    const response = await fetch(`${gateway.url}/cb/s/pause`, { method: 'POST', ...JSON_BODY })
    t.strictSame(await response.json(), { from: 'b' })
    t.equal(
      (await upstream.events('request', 'pause')).length,
      total,
      'the paused target gets no second request',
    )
  }
})

t.test('retry: a timeout of the connection queue falls back to another target', async t => {
  await upstream.script('narrow:hold', [
    body,
    STREAM,
    { do: 'gate', name: 'hold' },
    text('0\r\n\r\n'),
  ])
  await upstream.script('narrow:wait', fromA)
  await upstream.script('b:wait', fromB)
  const holding = await fetch(`${gateway.url}/narrow/s/hold`, { method: 'POST', ...JSON_BODY })
  const [next, alone] = await Promise.all([
    fetch(`${gateway.url}/narrow/s/wait`, { method: 'POST', ...JSON_BODY }),
    fetch(`${gateway.url}/narrow-alone/s/wait`, { method: 'POST', ...JSON_BODY }),
  ])
  t.strictSame(await next.json(), { from: 'b' })
  t.equal(alone.status, 503)
  t.match(await alone.json(), { error: { message: /No connection to the upstream narrow/ } })
  await upstream.open('hold')
  t.equal((await holding.arrayBuffer()).byteLength, 0)
  const after = await fetch(`${gateway.url}/narrow-alone/s/wait`, { method: 'POST', ...JSON_BODY })
  t.strictSame(await after.json(), { from: 'a' }, 'a free connection serves again')
})

t.test('retry: a streamed body is sent once', async t => {
  await upstream.script('a:streamed', busy())
  await upstream.script('b:streamed', fromB)
  const response = await fetch(`${gateway.url}/ab/s/streamed`, {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream' },
    body: Buffer.alloc(100_000),
  })
  t.equal(response.status, 503)
  t.equal((await upstream.events('request', 'streamed')).length, 1)
})
