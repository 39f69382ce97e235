/** Request smuggling: for any client bytes, every back end behind the gateway parses the same
 *  requests, and no client gets another's response. */
import t from 'tap'
import { families } from '../../fixtures/raw/index.ts'
import { generatePayload } from '../../fixtures/raw/mutate.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway/gateway.ts'
import {
  type RawClient,
  type RawReply,
  rawClient,
  replies,
} from '../../helpers/gateway/raw-client.ts'
import { createChance, draw, LONG, seed, shortOrLong } from '../../helpers/run-settings.ts'
import { type BackEnd, type Reading, startBackEnds } from './back-ends.ts'

/** Milliseconds without new bytes after which a waiting client counts as finished. */
const QUIET_MS = 300
const MUTATIONS = shortOrLong(50, 2_000)

interface GatewayPair {
  readonly back: BackEnd
  readonly gateway: TestGateway
}
const { all, missing } = await startBackEnds()
const pairs: readonly GatewayPair[] = await Promise.all(
  all.map(async back => ({
    back,
    gateway: await startGateway({
      inside: true,
      routes: `
pipeline: [errors]
upstreams: { raw: { url: '${back.url}', key: upstream-key, headers: { pass: [x-*] } } }
routes: [{ path: 'GET|POST|PUT|DELETE|PATCH|OPTIONS /s/{name}', upstream: raw }]
`,
    }),
  })),
)
t.teardown(async () => {
  await Promise.all(pairs.map(({ gateway }) => gateway.stop()))
  await Promise.all(pairs.map(({ back }) => back.stop()))
})

/** The result of one payload at one pair of gateway and back end. */
interface Outcome {
  /** The requests that the back end read, in a form that is equal for all back ends. */
  readonly read: readonly string[]
  /** Status and target of each reply to the sender. */
  readonly repliesRead: readonly string[]
  /** The response that a client on another connection got. */
  readonly otherClient: string
  readonly received: readonly RawReply[]
}
/** Framing belongs to each hop, and ids to one request. */
const PER_HOP = new Set(['connection', 'content-length', 'transfer-encoding', 'keep-alive'])
const IDS = new Set(['traceparent', 'x-request-id'])
const normalize = ({ method, target, headers, body }: Reading, back: BackEnd): string => {
  const host = new URL(back.url).host
  const lines = headers
    .map(([name, value]) => [name.toLowerCase(), value.trim()] as const)
    .filter(([name]) => !PER_HOP.has(name))
    .map(([name, value]) => `${name}: ${IDS.has(name) ? '' : value.replace(host, 'back-end')}`)
  return JSON.stringify([method, target, lines.sort(), body])
}

const shoot = async (
  { back, gateway }: GatewayPair,
  payload: string,
  victim: string,
  quietMs: number,
): Promise<Outcome> => {
  await back.take()
  const client = await rawClient(gateway)
  await client.send(`${payload}GET /s/echo?${victim} HTTP/1.1\r\nHost: gateway.test\r\n\r\n`)
  await untilFinished(client, victim, quietMs)
  client.close()
  const otherResponse = await fetch(`${gateway.url}/s/echo?stranger-${victim}`)
  const received = replies(client.text())
  return {
    received,
    repliesRead: received.map(
      ({ status, body }) => `${status} ${/"target":"([^"]*)"/.exec(body)?.[1] ?? ''}`,
    ),
    otherClient: `${otherResponse.status} ${await otherResponse.text()}`,
    // Pipelined requests travel on connections of their own, so they may overtake each other.
    read: (await back.take()).map(each => normalize(each, back)).sort(),
  }
}
/** Resolves when all requests are answered, the gateway closed the connection, or no bytes arrive
 *  any more. */
const untilFinished = async (client: RawClient, victim: string, quietMs: number) => {
  const isDone = () => {
    const list = replies(client.text())
    const last = closes(list) || client.text().includes(victim)
    return list.length > 0 && list.every(({ whole }) => whole) && last
  }
  const untilQuiet = async () => {
    for (let before = -1; before < client.bytes().length && !isDone() && !client.over(); ) {
      before = client.bytes().length
      await new Promise(resolve => setTimeout(resolve, quietMs))
    }
  }
  await Promise.race([client.until(isDone), untilQuiet()])
}

/** Says where the back ends read something else than the gateways sent, one line each. */
const disagreements = (outcomes: readonly Outcome[], victim: string): string[] => {
  const [longest = []] = outcomes.map(({ read }) => read).sort((a, b) => b.length - a.length)
  const wrong: string[] = []
  for (const [index, { read, repliesRead, otherClient, received }] of outcomes.entries()) {
    const name = all[index]?.name
    // A request behind a closing reply may not reach the back end, but never becomes another
    // request.
    const same = closes(received)
      ? read.every(each => longest.includes(each))
      : `${read}` === `${longest}`
    if (!same) wrong.push(`${name} read ${read}, another back end ${longest}`)
    if (`${repliesRead}` !== `${outcomes[0]?.repliesRead}`)
      wrong.push(`${name} replied ${repliesRead}, ${outcomes[0]?.repliesRead}`)
    if (!otherClient.includes(`"target":"/s/echo?stranger-${victim}"`))
      wrong.push(`behind ${name} another client got ${otherClient}`)
    if (received.some(({ status, headers }) => status === 400 && headers.connection !== 'close'))
      wrong.push(`before ${name} a refusal kept the connection open`)
    if (received.slice(0, -1).some(({ body }) => body.includes(victim)))
      wrong.push(`behind ${name} another request got the victim's reply`)
  }
  return wrong
}
const closes = (received: readonly RawReply[]): boolean =>
  received.at(-1)?.headers.connection === 'close'

const fixedPayloads = Object.values(families).flat()
const chance = createChance()
const mutations = Array.from({ length: MUTATIONS }, (_, index) => ({
  name: `mutated-${index}`,
  send: generatePayload(chance),
}))
const payloads = [...shortOrLong(draw(fixedPayloads, 50), fixedPayloads), ...mutations]
const summary = `${payloads.length} payloads, ${all.map(({ name }) => name).join(', ')} (SEED=${seed()})`

t.test(
  `request smuggling: all back ends read ${summary} alike`,
  { timeout: 3_600_000 },
  async t => {
    if (LONG) t.strictSame(missing, [], 'every kind of back end is installed')
    let [requests, closedCount] = [0, 0]
    for (const [index, { name, send }] of payloads.entries()) {
      const victim = `victim-${index}.`
      const shootAll = (quietMs: number) =>
        Promise.all(pairs.map(pair => shoot(pair, send, victim, quietMs)))
      let outcomes = await shootAll(QUIET_MS)
      // A slow reply is not a difference: the second run waits ten times as long.
      if (disagreements(outcomes, victim).length > 0) outcomes = await shootAll(QUIET_MS * 10)
      for (const wrong of disagreements(outcomes, victim))
        t.fail(`${name}: ${wrong.slice(0, 2_000)}\nsent: ${send.slice(0, 1_000)}`)
      requests += outcomes[0]?.read.length ?? 0
      if (closes(outcomes[0]?.received ?? [])) closedCount++
    }
    t.comment(
      `${requests} requests were read alike, ${closedCount} connections closed by the gateway`,
    )
    t.ok(requests > payloads.length && closedCount > payloads.length / 10)
  },
)

t.test('request smuggling: the comparison detects a back end that parses differently', async t => {
  const plain: Outcome = {
    read: ['one', 'two'],
    repliesRead: ['200 one'],
    received: [],
    otherClient: '200 {"target":"/s/echo?stranger-v."}',
  }
  const differencesWith = (other: Partial<Outcome>) =>
    disagreements([plain, { ...plain, ...other }], 'v.').length
  t.equal(differencesWith({}), 0)
  for (const read of [['one'], ['one', 'three'], ['one', 'two', 'three']])
    t.not(differencesWith({ read }), 0)
  t.equal(differencesWith({ repliesRead: ['400 '] }), 1)
  t.equal(differencesWith({ otherClient: '200 {"target":"/s/smuggled"}' }), 1)
  const reply = { headers: {}, body: '', whole: true }
  t.equal(differencesWith({ received: [{ ...reply, status: 400 }] }), 1)
  const [victimReply, ownReply] = [
    { ...reply, status: 200, body: 'v.' },
    { ...reply, status: 200 },
  ]
  t.equal(differencesWith({ received: [victimReply, ownReply] }), 1)
})
