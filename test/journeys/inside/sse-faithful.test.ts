/** SSE streams pass byte for byte and without delay, for any chunk boundaries. */
import { createHash } from 'node:crypto'
import t from 'tap'
import { stream, text } from '../../fixtures/upstream/scenarios.ts'
import type { Step } from '../../fixtures/upstream/script.ts'
import { readAll } from '../../helpers/gateway/event-stream.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { rawClient, replies } from '../../helpers/gateway/raw-client.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'
import { LONG, shortOrLong } from '../../helpers/run-settings.ts'

const upstream = await startUpstream()
const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors]
upstreams: { raw: { url: '${upstream.url}' } }
routes:
  - { path: 'POST /s/{name}', upstream: raw }
  - { path: 'POST /pinged/s/{name}', rewrite: '/s/{name}', upstream: raw, ping: 100ms }
`,
})
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))

const HEAD = text(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
)
const LAST = text('0\r\n\r\n')
const post = (name: string, prefix = ''): Promise<Response> =>
  fetch(`${gateway.url}${prefix}/s/${name}`, { method: 'POST', body: '{"stream":true}' })
const bytesOf = async (name: string): Promise<Buffer> => {
  const { bytes, broke: failure } = await readAll(await post(name))
  if (failure) throw failure
  return bytes
}
const chunk = (bytes: string): Step => ({ do: 'send', bytes, inChunks: true })

/** Two-, three- and four-byte characters, every line end, comments, several data lines, ids. */
const MIXED = Buffer.from(
  ': hi\n\ndata: {"c":"ü"}\n\nid: 7\r\ndata: 東\r\ndata: 京\r\n\r\ndata: 👋🏽\r\rretry: 5\nevent: x\ndata\n\ndata: [DONE]\n\n',
)

t.test('SSE: chunks cut at every offset', async t => {
  const offsets = [...MIXED.keys()].slice(1)
  for (const offset of offsets)
    await upstream.script(`cut-${offset}`, [{ do: 'body' }, ...stream(MIXED, { cuts: [offset] })])
  const results = await inBatches(offsets, offset => bytesOf(`cut-${offset}`))
  const wrong = offsets.filter((_, index) => !results[index]?.equals(MIXED))
  t.strictSame(wrong, [], `${offsets.length} offsets`)
})

t.test('SSE: many streams in chunks of every size', async t => {
  const sizes = Array.from({ length: 16 }, (_, n) => n + 1)
  for (const piece of sizes)
    await upstream.script(`piece-${piece}`, [{ do: 'body' }, ...stream(MIXED, { piece })])
  const runs = Array.from(
    { length: shortOrLong(64, 10_000) },
    (_, n) => sizes[n % sizes.length] ?? 1,
  )
  const results = await inBatches(runs, piece => bytesOf(`piece-${piece}`))
  t.equal(results.filter(bytes => !bytes.equals(MIXED)).length, 0, `${runs.length} streams`)
})

t.test('SSE: an event of ten megabytes', async t => {
  await upstream.script('giant', [
    { do: 'body' },
    HEAD,
    chunk('data: '),
    { do: 'send', bytes: 'ü'.repeat(5_000), inChunks: true, times: 1_000 },
    chunk('\n\ndata: [DONE]\n\n'),
    LAST,
  ])
  const bytes = await bytesOf('giant')
  const expected = `data: ${'ü'.repeat(5_000_000)}\n\ndata: [DONE]\n\n`
  t.equal(sha(bytes), sha(Buffer.from(expected)), `${bytes.length} bytes`)
})

t.test('SSE: each chunk passes before the next arrives', async t => {
  const pieces = [
    'data: {"half',
    '":1}\n',
    '\n',
    ': comment\n\n',
    'data: two\n\n',
    'data: [DONE]\n\n',
  ]
  const gatedSteps = pieces.flatMap((piece, n): Step[] => [
    { do: 'gate', name: `piece ${n}` },
    chunk(piece),
  ])
  // The end is not gated, because the last piece may wait for durable writes before it passes.
  await upstream.script('gated', [{ do: 'body' }, HEAD, ...gatedSteps, LAST])
  const response = await post('gated')
  const reader = response.body?.getReader()
  let received = ''
  for (const [n, piece] of pieces.entries()) {
    await upstream.open(`piece ${n}`)
    const last = n === pieces.length - 1
    const expected = pieces.slice(0, n + 1).join('')
    while (received.length < expected.length)
      received += Buffer.from((await reader?.read())?.value ?? []).toString('latin1')
    t.equal(received, expected, last ? 'the end' : JSON.stringify(piece))
  }
  t.equal((await reader?.read())?.done, true)
})

t.test('SSE: a slow first byte is waited for', async t => {
  const answer = 'data: {"late":true}\n\ndata: [DONE]\n\n'
  await upstream.script('late', [
    { do: 'body' },
    { do: 'gate', name: 'late' },
    HEAD,
    chunk(answer.slice(0, 10)),
    { do: 'wait', ms: 350 },
    chunk(answer.slice(10)),
    LAST,
  ])

  await t.test('SSE: pings before the first byte if the route has them', async t => {
    const client = await rawClient(gateway)
    await client.send(
      'POST /pinged/s/late HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"stream":true}',
    )
    await client.until(received => received.split(': ping').length > 3)
    await upstream.open('late')
    await client.until(received => replies(received)[0]?.whole === true)
    const body = replies(client.text())[0]?.body ?? ''
    t.match(body, /^(: ping\n\n){3,}data: /, 'whole comments, all before the first byte')
    t.equal(body.replace(/^(: ping\n\n)+/, ''), answer, 'the stream follows unchanged')
    client.close()
  })

  await t.test('SSE: no pings by default', async t => {
    const { bytes } = await readAll(await post('late'))
    t.equal(bytes.toString(), answer)
  })
})

t.test('SSE: a stream with pings ends in an error event if the upstream refuses', async t => {
  await upstream.script('refuses', [
    { do: 'body' },
    { do: 'gate', name: 'refuses' },
    text(
      'HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: 32\r\n\r\n{"error":{"message":"overloaded"}',
    ),
  ])
  const response = await post('refuses', '/pinged')
  await upstream.open('refuses')
  const { bytes } = await readAll(response)
  t.match(bytes.toString(), /^(: ping\n\n)+data: \{"error".*\n\n$/)
})

t.test(
  'SSE: two minutes of silence before the first byte',
  { skip: !LONG && 'long form only', timeout: 200_000 },
  async t => {
    await upstream.script('silent', [
      { do: 'body' },
      { do: 'wait', ms: 118_000 },
      HEAD,
      chunk('data: 1\n\n'),
      LAST,
    ])
    t.equal((await bytesOf('silent')).toString(), 'data: 1\n\n')
  },
)

const sha = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

async function inBatches<T, R>(list: readonly T[], run: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let from = 0; from < list.length; from += 25)
    results.push(...(await Promise.all(list.slice(from, from + 25).map(run))))
  return results
}
