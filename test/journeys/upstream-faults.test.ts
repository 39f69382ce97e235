/** Upstream failures: each ends in a documented status or an error event, and the next request is
 *  served. */
import t, { type Test } from 'tap'
import { plain, text } from '../fixtures/upstream/scenarios.ts'
import { eventsOf, readAll } from '../helpers/gateway/event-stream.ts'
import { startGateway } from '../helpers/gateway/gateway.ts'
import { postTo } from '../helpers/gateway/post.ts'
import { startUpstream } from '../helpers/gateway/upstream.ts'
import { scaled } from '../helpers/machine-speed.ts'

const upstream = await startUpstream()
const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors]
upstreams:
  faulty: { url: '${upstream.url}', health: { failures: 1000000 } }
  hasty:
    url: '${upstream.url}'
    timeout: { first_byte: ${scaled(1_500)}ms, idle: ${scaled(1_500)}ms }
    health: { failures: 1000000 }
routes:
  - { path: 'GET|POST /s/{name}', upstream: faulty, retries: 0 }
  - { path: 'GET|POST /hasty/s/{name}', rewrite: '/s/{name}', upstream: hasty, retries: 0 }
`,
})
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))

/** The expected result of a fault: the gateway's own status and code, the upstream's response, or a
 *  visibly cut response. */
type Expected =
  | { readonly status: number; readonly code: string }
  | { readonly passedStatus: number; readonly header?: readonly [name: string, value: string] }
  | { readonly isCut: true }
  | { readonly complete: string }

const BROKEN: Expected = { status: 502, code: 'upstream_error' }
const TIMEOUT: Expected = { status: 504, code: 'upstream_timeout' }
const CUT: Expected = { isCut: true }

/** Faults before the head are the same for every kind of request. */
const BEFORE: Readonly<Record<string, Expected>> = {
  'reset-before-head': BROKEN,
  'close-before-head': BROKEN,
  'half-close-before-head': BROKEN,
  'reset-mid-head': BROKEN,
  'close-mid-head': BROKEN,
  'stall-before-head': TIMEOUT,
  'stall-mid-head': TIMEOUT,
  'drip-head': TIMEOUT,
  '1xx-flood': TIMEOUT,
  'not-http': BROKEN,
  'bad-status-line': BROKEN,
  'bad-header': BROKEN,
  'both-framings': BROKEN,
  'two-lengths': BROKEN,
  'huge-header': BROKEN,
  'many-headers': BROKEN,
  '429': { passedStatus: 429, header: ['retry-after', '7'] },
  '500': { passedStatus: 500 },
  '502': { passedStatus: 502 },
  '503': { passedStatus: 503, header: ['retry-after', '3'] },
  '504': { passedStatus: 504 },
  'early-answer': { passedStatus: 413 },
}
const JSON_FAULTS: Readonly<Record<string, Expected>> = {
  'reset-mid-json': CUT,
  'close-mid-json': CUT,
  'close-mid-chunked-json': CUT,
  'stall-mid-json': CUT,
  'length-short': CUT,
  'length-long': { complete: '{"ok":true}' },
  'early-answer-keep': { complete: '{"early":true}' },
  '1xx-few': { complete: '{"ok":true}' },
  '100-unasked': { complete: '{"ok":true}' },
  '204': { complete: '' },
  '304': { complete: '' },
}
const THREE = 'data: {"n":0}\n\ndata: {"n":1}\n\ndata: {"n":2}\n\n'
const SSE_FAULTS: Readonly<Record<string, Expected>> = {
  'sse-reset-before-event': CUT,
  'sse-reset-between-events': CUT,
  'sse-reset-mid-event': CUT,
  'sse-close-mid-event': CUT,
  'sse-close-no-last-chunk': CUT,
  'sse-stall': CUT,
  'bad-chunk': CUT,
  'sse-until-close': { complete: 'data: 1\n\ndata: 2\n\n' },
  drip: { complete: 'data: drip\n\n' },
}

/** Faults that end in a deadline use a short one; on a busy machine other faults must not. */
const DEADLINES = /stall|^drip-head$|^1xx-flood$|^bad-chunk$/
const urlOf = (name: string): string =>
  `${gateway.url}${DEADLINES.test(name) ? '/hasty' : ''}/s/${name}`
const ask = (name: string, body: object): Promise<Response> => postTo(urlOf(name), body)

const checkFault = async (
  t: Test,
  name: string,
  body: object,
  expected: Expected,
): Promise<void> => {
  const response = await ask(name, body)
  const { bytes, broke: failure } = await readAll(response)
  const text = bytes.toString()
  if ('status' in expected) {
    t.equal(response.status, expected.status, 'the status')
    t.match(JSON.parse(text), { error: { code: expected.code } }, 'the code')
  } else if ('passedStatus' in expected) {
    t.equal(response.status, expected.passedStatus, 'the upstream’s own status')
    if (expected.header) t.equal(response.headers.get(expected.header[0]), expected.header[1])
    t.equal(failure, undefined)
    t.match(text, /scripted|early/, 'the upstream’s own body')
  } else if ('complete' in expected) {
    t.equal(failure, undefined, 'no broken connection')
    t.equal(text, expected.complete)
  } else checkCut(t, response, text, failure)
}

/** Expects an error status, or a visible break: a broken connection or a last error event. */
const checkCut = (t: Test, response: Response, text: string, failure: Error | undefined): void => {
  if (response.status >= 500) return void t.match(JSON.parse(text), { error: { code: String } })
  t.equal(response.status, 200)
  if (failure) return void t.pass('the connection broke')
  t.match(eventsOf(text).at(-1), /^\{"error":\{"message":/, 'the last event is an error')
  t.match(
    text,
    /(^|\n\n)data: \{"error"[^\n]*\n\n$/,
    'the error event is separate from the events before',
  )
}

/** Most of the time is spent waiting for deadlines. */
const JOBS = 12
const check = (t: Test, kind: string, body: object, table: Readonly<Record<string, Expected>>) =>
  t.test(kind, { jobs: JOBS }, async t => {
    for (const [name, expected] of Object.entries(table))
      t.test(name, async t => {
        await checkFault(t, name, body, expected)
        await nextIsServed(t)
      })
  })
const nextIsServed = async (t: Test): Promise<void> => {
  const next = await ask('json', {})
  t.equal(await next.text(), '{"ok":true}', 'the next request is served')
}
const statusOf = (expected: Expected): number =>
  'status' in expected ? expected.status : 'passedStatus' in expected ? expected.passedStatus : 200

t.test('upstream faults: a response before its request reaches no client', async t => {
  // CVE-2026-48931: an unrequested response on an idle connection would answer the next request.
  const poison = text('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\npoison')
  await upstream.script('unasked', [
    { do: 'body' },
    plain({ ok: true }),
    { do: 'wait', ms: 20 },
    poison,
  ])
  for (let n = 0; n < 5; n++) {
    await upstream.forget()
    t.equal(await (await ask('unasked', {})).text(), '{"ok":true}', `request ${n}`)
    // After the first of them each connection is used once: the next is closed before it is sent.
    if (n === 0)
      await upstream.until('sent', event => event.script === 'unasked' && event.step === 3)
  }
})

t.test('upstream faults: each ends as documented', { jobs: 3 }, async t => {
  check(t, 'a plain call', { kind: 'plain' }, { ...BEFORE, ...JSON_FAULTS })
  check(t, 'a stream', { kind: 'stream', stream: true }, { ...BEFORE, ...SSE_FAULTS })
  t.test('an upload', { jobs: JOBS }, async t => {
    const body = Buffer.alloc(2_000_000, 'x')
    const early = { 'early-answer-keep': { complete: '' } }
    for (const [name, expected] of Object.entries({ ...BEFORE, ...early }))
      t.test(name, async t => {
        const response = await fetch(urlOf(name), { method: 'POST', body })
        const text = await response.text()
        t.equal(response.status, statusOf(expected), text.slice(0, 100))
        await nextIsServed(t)
      })
  })
})

t.test(
  'upstream faults: a reset after the last byte keeps the response and drops the connection',
  async t => {
    for (let n = 0; n < 5; n++) {
      await upstream.forget()
      await checkFault(t, 'sse-reset-after-last', { stream: true }, { complete: THREE })
      await upstream.until(
        'sent',
        event => event.script === 'sse-reset-after-last' && event.step === 4,
      )
      await nextIsServed(t)
    }
  },
)

t.test("upstream faults: 502 if the upstream's port has no listener", async t => {
  await upstream.listen('gone')
  const port = await upstream.listen('briefly')
  await upstream.shut('briefly')
  await gateway.reload(`
pipeline: [errors]
upstreams: { nobody: { url: 'http://127.0.0.1:${port}' } }
routes: [{ path: 'GET|POST /s/{name}', upstream: nobody, retries: 0 }]
`)
  const response = await ask('json', {})
  t.equal(response.status, 502)
  t.match(await response.json(), {
    error: { code: 'upstream_error', message: /cannot be reached/ },
  })
})
