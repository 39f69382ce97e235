/** Uploads far larger than memory pass unchanged with bounded memory. */
import { createHash } from 'node:crypto'
import t from 'tap'
import { startGateway } from '../helpers/gateway/gateway.ts'
import { rawClient, replies } from '../helpers/gateway/raw-client.ts'
import { startUpstream } from '../helpers/gateway/upstream.ts'
import { scaled } from '../helpers/machine-speed.ts'
import { growthDuring } from '../helpers/process-tree.ts'
import { shortOrLong } from '../helpers/run-settings.ts'

const upstream = await startUpstream()
const gateway = await startGateway({
  routes: `
pipeline: [errors]
upstreams:
  raw: { url: '${upstream.url}' }
  hasty: { url: '${upstream.url}', timeout: { first_byte: ${scaled(500)}ms } }
routes:
  - { path: 'POST /s/{name}', upstream: raw, body: { limit: 2GiB } }
  - { path: 'POST /hasty/s/{name}', rewrite: '/s/{name}', upstream: hasty, body: { limit: 2GiB } }
`,
})
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))

const MIB = 1024 * 1024
const UPLOADS = shortOrLong(2, 8)
const SIZE = shortOrLong(48, 1024) * MIB
const PART = Buffer.from(Array.from({ length: 64 * 1024 }, (_, n) => (n * 7) % 251))

/** A multipart body of SIZE payload bytes, generated as it is sent; `digest` is its SHA-256. */
const multipart = (boundary: string) => {
  const hash = createHash('sha256')
  const open = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="big.bin"\r\n\r\n`
  const close = `\r\n--${boundary}--\r\n`
  const body = async function* () {
    for (const part of parts()) {
      hash.update(part)
      yield part
    }
  }
  function* parts(): Generator<Buffer> {
    yield Buffer.from(open)
    for (let offset = 0; offset < SIZE; offset += PART.length) yield PART
    yield Buffer.from(close)
  }
  return { body, digest: () => hash.digest('hex'), length: open.length + SIZE + close.length }
}

const upload = async (
  n: number,
): Promise<{ sentDigest: string; receivedDigest: string; framing: string }> => {
  const { body, digest, length } = multipart(`boundary${n}`)
  const response = await fetch(`${gateway.url}/s/echo`, {
    method: 'POST',
    headers: {
      'content-type': `multipart/form-data; boundary=boundary${n}`,
      // Every other upload declares its length.
      ...(n % 2 === 0 && { 'content-length': String(length) }),
    },
    body: body(),
    duplex: 'half',
  } as unknown as RequestInit)
  const echo = (await response.json()) as { body: { sha256: string; framing: string } }
  return { sentDigest: digest(), receivedDigest: echo.body.sha256, framing: echo.body.framing }
}

t.test(
  `large uploads: ${UPLOADS} uploads of ${SIZE / MIB} MiB at once pass with bounded memory`,
  { timeout: 600_000 },
  async t => {
    await upload(0) // warms up the heap
    const results: Awaited<ReturnType<typeof upload>>[] = []
    const growth = await growthDuring(gateway.pid, async () => {
      results.push(...(await Promise.all(Array.from({ length: UPLOADS }, (_, n) => upload(n)))))
    })
    for (const { sentDigest, receivedDigest } of results)
      t.equal(receivedDigest, sentDigest, 'every byte arrived')
    t.ok(growth <= UPLOADS * 32 * MIB, `${UPLOADS} uploads cost ${(growth / MIB).toFixed(1)} MiB`)
  },
)

// This upstream's first-byte timeout is half a second, and must not run while the client sends.
t.test(
  'slow upload: the first-byte timeout starts after the upload',
  { timeout: 2_700_000 },
  async t => {
    const bytes = shortOrLong(MIB / 2, 1024 * MIB)
    const client = await rawClient(gateway)
    await client.send(
      `POST /hasty/s/echo HTTP/1.1\r\nHost: x\r\nContent-Type: video/mp4\r\nContent-Length: ${bytes}\r\n\r\n`,
    )
    const piece = Buffer.alloc(MIB / 8)
    for (let offset = 0; offset < bytes; offset += piece.length) {
      await new Promise(resolve => setTimeout(resolve, scaled(250)))
      await client.send(piece)
    }
    await client.until(received => replies(received)[0]?.whole === true)
    const reply = replies(client.text())[0]
    t.equal(reply?.status, 200, 'no 408, no 504')
    t.match(reply?.body, `"length":${bytes}`)
    client.close()
  },
)

t.test('upload: a slow upstream slows its client down', async t => {
  await upstream.script('lazy', [{ do: 'gate', name: 'lazy' }, { do: 'echo' }])
  const client = await rawClient(gateway)
  const bytes = 32 * MIB
  await client.send(
    `POST /s/lazy HTTP/1.1\r\nHost: x\r\nContent-Type: video/mp4\r\nContent-Length: ${bytes}\r\n\r\n`,
  )
  const sending = client.send(Buffer.alloc(bytes))
  await upstream.until('request', event => event.script === 'lazy')
  const waiting = await untilStable(() => client.socket.writableLength)
  t.ok(waiting > bytes / 4, `${(waiting / MIB).toFixed(0)} MiB are still buffered by the client`)
  await upstream.open('lazy')
  await sending
  await client.until('"length":33554432')
  client.close()
})

/** Resolves with a number that has stopped changing. */
async function untilStable(read: () => number): Promise<number> {
  let before = -1
  for (;;) {
    const now = read()
    if (now === before) return now
    before = now
    await new Promise(resolve => setTimeout(resolve, 150))
  }
}
