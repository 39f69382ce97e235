/** Retries and fallbacks only while nothing was sent to the client and the upstream cannot have acted. */
import t from 'tap'
import { plain, text } from '../../fixtures/upstream/scenarios.ts'
import type { Step } from '../../fixtures/upstream/script.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { readAll } from '../../helpers/sse.ts'
import { startUpstream } from '../../helpers/upstream.ts'

const upstream = await startUpstream()
const [a, b, c, narrow] = await Promise.all(
  ['a', 'b', 'c', 'narrow'].map(name => upstream.listen(name)),
)
const gone = await upstream.listen('gone')
await upstream.shut('gone')
const target = (name: string, port = 0, more = ''): string =>
  `${name}: { url: 'http://127.0.0.1:${port}', health: { failures: 1000000 }${more} }`
const HASTY = ', timeout: { first_byte: 500ms }'
const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors]
upstreams:
  ${target('a', a, HASTY)}
  ${target('b', b)}
  ${target('c', c)}
  ${target('gone', gone)}
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

interface Want {
  readonly method?: 'GET' | 'POST'
  readonly path?: string
  /** How often each was asked. */
  readonly asked: { readonly a: number; readonly b: number }
  readonly status: number
  readonly from?: 'a' | 'b'
}
/** What `a` does, and what must follow. `b` always answers. */
const table: Readonly<Record<string, readonly [does: readonly (readonly Step[])[], want: Want]>> = {
  'a refusal goes to the next target': [
    [busy()],
    { asked: { a: 1, b: 1 }, status: 200, from: 'b' },
  ],
  'a fault of the request itself goes nowhere else': [
    [[body, plain({ from: 'a' }, '400 Bad Request')]],
    { asked: { a: 1, b: 0 }, status: 400, from: 'a' },
  ],
  'a POST that broke something goes nowhere else': [
    [[body, plain({ from: 'a' }, '500 Internal Server Error')]],
    { asked: { a: 1, b: 0 }, status: 500, from: 'a' },
  ],
  'a POST that was sent and lost is not sent again': [
    [[body, { do: 'reset' }]],
    { asked: { a: 1, b: 0 }, status: 502 },
  ],
  'a POST that was sent and met silence is not sent again': [
    [[body, { do: 'stall' }]],
    { asked: { a: 1, b: 0 }, status: 504 },
  ],
  'a GET that was lost is sent again': [
    [[{ do: 'reset' }]],
    { method: 'GET', asked: { a: 1, b: 1 }, status: 200, from: 'b' },
  ],
  'a GET is not sent again after its head': [
    [
      [
        text('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'),
        { do: 'wait', ms: 15 },
        { do: 'reset' },
      ],
    ],
    { method: 'GET', asked: { a: 1, b: 0 }, status: 200 },
  ],
  'nothing is sent again after the first event': [
    [
      [
        body,
        STREAM,
        { do: 'send', bytes: 'data: 1\n\n', chunked: true },
        { do: 'wait', ms: 15 },
        { do: 'reset' },
      ],
    ],
    { asked: { a: 1, b: 0 }, status: 200 },
  ],
  'the same target is asked again as often as the route says': [
    [busy(), busy(), [body, plain({ from: 'a' })]],
    { path: 'again', asked: { a: 3, b: 0 }, status: 200, from: 'a' },
  ],
  'and not once more': [
    [busy(), busy(), busy(), fromB],
    { path: 'again', asked: { a: 3, b: 0 }, status: 503, from: 'a' },
  ],
  'what was never sent may go elsewhere': [
    [],
    { path: 'gone', asked: { a: 0, b: 1 }, status: 200, from: 'b' },
  ],
}

let count = 0
for (const [promise, [does, want]] of Object.entries(table))
  t.test(`retry: ${promise}`, async t => {
    const name = `case-${++count}`
    await upstream.script(`a:${name}`, ...does)
    await upstream.script(`b:${name}`, fromB)
    const method = want.method ?? 'POST'
    const response = await fetch(`${gateway.url}/${want.path ?? 'ab'}/s/${name}`, {
      method,
      ...(method === 'POST' && JSON_BODY),
    })
    const { bytes, broke } = await readAll(response)
    t.equal(response.status, want.status, 'the status')
    if (want.from) t.equal(JSON.parse(bytes.toString()).from, want.from, 'whose answer it is')
    else if (want.status === 200) t.ok(broke || bytes.includes('"error"'), 'the break shows')
    const asked = await upstream.seen('request', name)
    const times = (listener: string): number =>
      asked.filter(seen => seen.listener === listener).length
    t.strictSame({ a: times('a'), b: times('b') }, want.asked, 'who was asked, how often')
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
  for (const asked of [2, 3, 4]) {
    const response = await fetch(`${gateway.url}/cb/s/pause`, { method: 'POST', ...JSON_BODY })
    t.strictSame(await response.json(), { from: 'b' })
    t.equal((await upstream.seen('request', 'pause')).length, asked, 'it is asked once only')
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
  const held = await fetch(`${gateway.url}/narrow/s/hold`, { method: 'POST', ...JSON_BODY })
  const [next, alone] = await Promise.all([
    fetch(`${gateway.url}/narrow/s/wait`, { method: 'POST', ...JSON_BODY }),
    fetch(`${gateway.url}/narrow-alone/s/wait`, { method: 'POST', ...JSON_BODY }),
  ])
  t.strictSame(await next.json(), { from: 'b' })
  t.equal(alone.status, 503)
  t.match(await alone.json(), { error: { message: /No connection to the upstream narrow/ } })
  await upstream.open('hold')
  t.equal((await held.arrayBuffer()).byteLength, 0)
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
  t.equal((await upstream.seen('request', 'streamed')).length, 1)
})
