/** Raw payloads through the gateway: refused with a closed connection, or harmless in the stated
 *  way; never ambiguous. */
import t, { type Test } from 'tap'
import { families } from '../../fixtures/raw/index.ts'
import type { Harmless, Payload, Refused } from '../../fixtures/raw/payload.ts'
import { headerOf } from '../../fixtures/upstream/script.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { type RawClient, type RawReply, rawClient, replies } from '../../helpers/raw.ts'
import { type Seen, startUpstream } from '../../helpers/upstream.ts'

const upstream = await startUpstream()
const gateway = await startGateway({
  inside: true,
  files: {
    'plugins/locked.ts': `export default {
      schema: { type: 'boolean' },
      setup: () => ({ handle: async exchange => void exchange.answer(401, 'locked') }),
    }`,
  },
  routes: `
pipeline: [errors, locked]
upstreams:
  raw: { url: '${upstream.url}', key: upstream-key, headers: { pass: [x-*], set: { x-set: ours } } }
routes:
  - { path: 'GET|POST /s/{name}', upstream: raw }
  - { path: 'GET /closed/{name}', upstream: raw, locked: true }
`,
})
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))

interface Shot {
  readonly victim: string
  readonly client: RawClient
  readonly received: readonly RawReply[]
  /** The upstream’s requests, and those that it received completely. */
  readonly requests: readonly Seen<'request'>[]
  readonly whole: readonly Seen<'body'>[]
}
let count = 0
/** Sends the payload and, behind it, a request that must get its own reply or none. */
const shoot = async (payload: Payload): Promise<Shot> => {
  const victim = `victim-${++count}`
  await upstream.forget()
  const client = await rawClient(gateway)
  await client.send(`${payload.send}GET /s/echo?${victim} HTTP/1.1\r\nHost: gateway.test\r\n\r\n`)
  await client.until(received => isAnswered(received, victim))
  const requests = await upstream.seen('request')
  const bodies = await upstream.seen('body')
  const whole = bodies.filter(({ body }) => body.whole)
  return { victim, client, received: replies(client.text()), requests, whole }
}
const isAnswered = (received: string, victim: string): boolean => {
  const list = replies(received)
  const last = list.at(-1)
  const closes = last?.headers.connection === 'close'
  return list.every(reply => reply.whole) && (closes || received.includes(victim))
}

const checkRefused = (t: Test, expected: Refused, shot: Shot): void => {
  t.equal(shot.received.length, 1, 'one reply')
  const status = shot.received[0]?.status ?? 0
  t.ok(expected.status.includes(status), `the status: ${status}`)
  t.equal(shot.received[0]?.headers.connection, 'close', 'says that it closes')
  t.strictSame(shot.whole, [], 'nothing whole reached the upstream')
}

const checkHarmless = (t: Test, expected: Harmless, shot: Shot): void => {
  const behind = expected.closes ? [] : [`GET /s/echo?${shot.victim}`]
  const targets = shot.requests.map(({ head }) => `${head.method} ${head.target}`)
  // Pipelined requests travel on connections of their own, so they may overtake each other.
  t.strictSame(targets.sort(), [...expected.reaches, ...behind].sort(), 'what the upstream saw')
  for (const reply of ownReplies(expected, shot))
    t.equal(reply.status, expected.status ?? 200, 'the status')
  const head = shot.requests.find(({ head }) => !head.target.endsWith(shot.victim))?.head
  for (const name of expected.without ?? [])
    t.equal(head && headerOf(head, name), undefined, `no ${name}`)
  for (const [name, value] of Object.entries(expected.having ?? {}))
    t.equal(head && headerOf(head, name), value, name)
  if (expected.closes) return
  const last = shot.received.at(-1)
  t.equal(last?.status, 200, 'the request behind it is served')
  t.match(last?.body, `"target":"/s/echo?${shot.victim}"`, 'with its own reply')
}
const ownReplies = (expected: Harmless, shot: Shot): readonly RawReply[] => {
  const list = expected.closes ? shot.received : shot.received.slice(0, -1)
  return list.length > 0 ? list : [{ status: 0, headers: {}, body: '', whole: false }]
}

for (const [family, payloads] of Object.entries(families)) {
  t.test(`raw payloads: ${family}`, async t => {
    const ending: RawClient[] = []
    for (const payload of payloads) {
      const { expect } = payload
      const name = 'because' in expect ? `${payload.name}: ${expect.because}` : payload.name
      await t.test(name, async t => {
        const shot = await shoot(payload)
        if ('because' in expect) checkHarmless(t, expect, shot)
        else checkRefused(t, expect, shot)
        if ('because' in expect && !expect.closes) shot.client.close()
        else ending.push(shot.client)
      })
    }
    // A client that is still sending has a moment to read its refusal, so they end all at once.
    await Promise.all(ending.map(client => client.closed))
    t.ok(
      ending.every(client => client.over()),
      `${ending.length} connections were closed by the gateway`,
    )
    for (const client of ending) t.notMatch(client.text(), 'victim-', 'nothing behind was answered')
    for (const client of ending) client.close()
  })
}

t.test('raw payloads: at least a hundred, with unique names', async t => {
  const names = Object.entries(families).flatMap(([family, list]) =>
    list.map(({ name }) => `${family}/${name}`),
  )
  t.ok(names.length >= 100, `${names.length}`)
  t.equal(new Set(names).size, names.length)
})
