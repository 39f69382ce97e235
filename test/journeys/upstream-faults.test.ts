/** Every way an upstream fails ends in a documented status or an error event, and the next request is served. */
import t, { type Test } from 'tap'
import { plain, text } from '../fixtures/upstream/scenarios.ts'
import { startGateway } from '../helpers/gateway.ts'
import { eventsOf, readAll } from '../helpers/sse.ts'
import { startUpstream } from '../helpers/upstream.ts'

const upstream = await startUpstream()
const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors]
upstreams:
  faulty: { url: '${upstream.url}', health: { failures: 1000000 } }
  hasty:
    url: '${upstream.url}'
    timeout: { first_byte: 500ms, idle: 500ms }
    health: { failures: 1000000 }
routes:
  - { path: 'GET|POST /s/{name}', upstream: faulty, retries: 0 }
  - { path: 'GET|POST /hasty/s/{name}', rewrite: '/s/{name}', upstream: hasty, retries: 0 }
`,
})
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))

/** What a fault must become: a status with a code of ours, the upstream's own reply, or a reply that is seen to be cut. */
type Ending =
  | { readonly status: number; readonly code: string }
  | { readonly passed: number; readonly header?: readonly [name: string, value: string] }
  | { readonly cut: true }
  | { readonly complete: string }

const BROKE: Ending = { status: 502, code: 'upstream_error' }
const SILENT: Ending = { status: 504, code: 'upstream_timeout' }
const CUT: Ending = { cut: true }

/** Before the head it makes no difference what was asked for. */
const BEFORE: Readonly<Record<string, Ending>> = {
  'reset-before-head': BROKE,
  'close-before-head': BROKE,
  'half-close-before-head': BROKE,
  'reset-mid-head': BROKE,
  'close-mid-head': BROKE,
  'stall-before-head': SILENT,
  'stall-mid-head': SILENT,
  'drip-head': SILENT,
  '1xx-flood': SILENT,
  'not-http': BROKE,
  'bad-status-line': BROKE,
  'bad-header': BROKE,
  'both-framings': BROKE,
  'two-lengths': BROKE,
  'huge-header': BROKE,
  'many-headers': BROKE,
  '429': { passed: 429, header: ['retry-after', '7'] },
  '500': { passed: 500 },
  '502': { passed: 502 },
  '503': { passed: 503, header: ['retry-after', '3'] },
  '504': { passed: 504 },
  'early-answer': { passed: 413 },
}
const JSON_FAULTS: Readonly<Record<string, Ending>> = {
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
const SSE_FAULTS: Readonly<Record<string, Ending>> = {
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

/** Those that end in a deadline meet a short one; on a busy machine nothing else may. */
const DEADLINES = /stall|^drip-head$|^1xx-flood$|^bad-chunk$/
const urlOf = (name: string): string =>
  `${gateway.url}${DEADLINES.test(name) ? '/hasty' : ''}/s/${name}`
const ask = (name: string, body: object): Promise<Response> =>
  fetch(urlOf(name), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

const meet = async (t: Test, name: string, body: object, ending: Ending): Promise<void> => {
  const response = await ask(name, body)
  const { bytes, broke } = await readAll(response)
  const text = bytes.toString()
  if ('status' in ending) {
    t.equal(response.status, ending.status, 'the status')
    t.match(JSON.parse(text), { error: { code: ending.code } }, 'the code')
  } else if ('passed' in ending) {
    t.equal(response.status, ending.passed, 'the upstream’s own status')
    if (ending.header) t.equal(response.headers.get(ending.header[0]), ending.header[1])
    t.equal(broke, undefined)
    t.match(text, /scripted|early/, 'and its own body')
  } else if ('complete' in ending) {
    t.equal(broke, undefined, 'whole')
    t.equal(text, ending.complete)
  } else checkCut(t, response, text, broke)
}

/** Either nothing was promised, or the break shows: as a broken connection, or as a last event of its own. */
const checkCut = (t: Test, response: Response, text: string, broke: Error | undefined): void => {
  if (response.status >= 500) return void t.match(JSON.parse(text), { error: { code: String } })
  t.equal(response.status, 200)
  if (broke) return void t.pass('the connection broke')
  t.match(eventsOf(text).at(-1), /^\{"error":\{"message":/, 'the last event is an error')
  t.match(text, /(^|\n\n)data: \{"error"[^\n]*\n\n$/, 'it stands apart from what came before')
}

/** Most of the time is spent in deadlines. */
const JOBS = 12
const check = (t: Test, kind: string, body: object, table: Readonly<Record<string, Ending>>) =>
  t.test(kind, { jobs: JOBS }, async t => {
    for (const [name, ending] of Object.entries(table))
      t.test(name, async t => {
        await meet(t, name, body, ending)
        await nextIsServed(t)
      })
  })
const nextIsServed = async (t: Test): Promise<void> => {
  const next = await ask('json', {})
  t.equal(await next.text(), '{"ok":true}', 'the next request is served')
}
const statusOf = (ending: Ending): number =>
  'status' in ending ? ending.status : 'passed' in ending ? ending.passed : 200

t.test('faults', { jobs: 3 }, async t => {
  check(t, 'a plain call', { kind: 'plain' }, { ...BEFORE, ...JSON_FAULTS })
  check(t, 'a stream', { kind: 'stream', stream: true }, { ...BEFORE, ...SSE_FAULTS })
  t.test('an upload', { jobs: JOBS }, async t => {
    const body = Buffer.alloc(2_000_000, 'x')
    const early = { 'early-answer-keep': { complete: '' } }
    for (const [name, ending] of Object.entries({ ...BEFORE, ...early }))
      t.test(name, async t => {
        const response = await fetch(urlOf(name), { method: 'POST', body })
        const text = await response.text()
        t.equal(response.status, statusOf(ending), text.slice(0, 100))
        await nextIsServed(t)
      })
  })
})

t.test('a reply sent before its request is nobody’s', async t => {
  // CVE-2026-48931: what an idle connection brings unasked would answer whoever is next.
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
    await upstream.until('sent', event => event.script === 'unasked' && event.step === 3)
  }
})

t.test(
  'a reset after the last byte takes nothing back, and nobody meets that connection',
  async t => {
    for (let n = 0; n < 5; n++) {
      await upstream.forget()
      await meet(t, 'sse-reset-after-last', { stream: true }, { complete: THREE })
      await upstream.until(
        'sent',
        event => event.script === 'sse-reset-after-last' && event.step === 4,
      )
      await nextIsServed(t)
    }
  },
)

t.test('nobody listens', async t => {
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
