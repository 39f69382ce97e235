/** Request smuggling: for any client bytes, every back end behind the gateway parses the same requests, and no client gets another's response. */
import t from 'tap'
import { families } from '../../fixtures/raw/index.ts'
import { mutated } from '../../fixtures/raw/mutate.ts'
import { type BackEnd, type Reading, startBackEnds } from '../../helpers/back-ends.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { LONG, scaled } from '../../helpers/long.ts'
import { type RawClient, type RawReply, rawClient, replies } from '../../helpers/raw.ts'
import { createChance, draw, seed } from '../../helpers/seeded.ts'

/** How long a client waits for what may never come, ms: then it has said all it has to say. */
const QUIET = 300
const MUTATED = scaled(50, 2_000)

interface Lane {
  readonly back: BackEnd
  readonly gateway: TestGateway
}
const { all, missing } = await startBackEnds()
const lanes: readonly Lane[] = await Promise.all(
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
  await Promise.all(lanes.map(({ gateway }) => gateway.stop()))
  await Promise.all(lanes.map(({ back }) => back.stop()))
})

/** What one lane made of a payload. */
interface Outcome {
  /** What the back end has read, in a form that is alike for all of them. */
  readonly read: readonly string[]
  /** Status and target of each reply to the sender. */
  readonly told: readonly string[]
  /** What a stranger got who came on another connection. */
  readonly stranger: string
  readonly received: readonly RawReply[]
}
/** Framing is each hop's own; ids are of one request. */
const OWN = new Set(['connection', 'content-length', 'transfer-encoding', 'keep-alive'])
const IDS = new Set(['traceparent', 'x-request-id'])
const alike = ({ method, target, headers, body }: Reading, back: BackEnd): string => {
  const host = new URL(back.url).host
  const lines = headers
    .map(([name, value]) => [name.toLowerCase(), value.trim()] as const)
    .filter(([name]) => !OWN.has(name))
    .map(([name, value]) => `${name}: ${IDS.has(name) ? '' : value.replace(host, 'back-end')}`)
  return JSON.stringify([method, target, lines.sort(), body])
}

const shoot = async (
  { back, gateway }: Lane,
  payload: string,
  victim: string,
  patience: number,
): Promise<Outcome> => {
  await back.take()
  const client = await rawClient(gateway)
  await client.send(`${payload}GET /s/echo?${victim} HTTP/1.1\r\nHost: gateway.test\r\n\r\n`)
  await settled(client, victim, patience)
  client.close()
  const stranger = await fetch(`${gateway.url}/s/echo?stranger-${victim}`)
  const received = replies(client.text())
  return {
    received,
    told: received.map(
      ({ status, body }) => `${status} ${/"target":"([^"]*)"/.exec(body)?.[1] ?? ''}`,
    ),
    stranger: `${stranger.status} ${await stranger.text()}`,
    // Pipelined requests travel on connections of their own, so they may overtake each other.
    read: (await back.take()).map(each => alike(each, back)).sort(),
  }
}
/** All is answered, or the gateway closed, or it waits for something that this client does not say. */
const settled = async (client: RawClient, victim: string, patience: number) => {
  const done = () => {
    const list = replies(client.text())
    const last = closes(list) || client.text().includes(victim)
    return list.length > 0 && list.every(({ whole }) => whole) && last
  }
  const quiet = async () => {
    for (let before = -1; before < client.bytes().length && !done() && !client.over(); ) {
      before = client.bytes().length
      await new Promise(resolve => setTimeout(resolve, patience))
    }
  }
  await Promise.race([client.until(done), quiet()])
}

/** What differs between the lanes, in words. */
const disagreements = (outcomes: readonly Outcome[], victim: string): string[] => {
  const [longest = []] = outcomes.map(({ read }) => read).sort((a, b) => b.length - a.length)
  const wrong: string[] = []
  for (const [index, { read, told, stranger, received }] of outcomes.entries()) {
    const name = all[index]?.name
    // A request behind a reply that closes may be gone before the back end has it, but it is never another one.
    const same = closes(received)
      ? read.every(each => longest.includes(each))
      : `${read}` === `${longest}`
    if (!same) wrong.push(`${name} has read ${read}, another ${longest}`)
    if (`${told}` !== `${outcomes[0]?.told}`)
      wrong.push(`${name} told ${told}, ${outcomes[0]?.told}`)
    if (!stranger.includes(`"target":"/s/echo?stranger-${victim}"`))
      wrong.push(`behind ${name} a stranger got ${stranger}`)
    if (received.some(({ status, headers }) => status === 400 && headers.connection !== 'close'))
      wrong.push(`before ${name} it was refused and the connection kept`)
    if (received.slice(0, -1).some(({ body }) => body.includes(victim)))
      wrong.push(`behind ${name} another got the victim's reply`)
  }
  return wrong
}
const closes = (received: readonly RawReply[]): boolean =>
  received.at(-1)?.headers.connection === 'close'

const own = Object.values(families).flat()
const chance = createChance()
const generated = Array.from({ length: MUTATED }, (_, index) => ({
  name: `mutated-${index}`,
  send: mutated(chance),
}))
const payloads = [...scaled(draw(own, 50), own), ...generated]
const title = `${payloads.length} payloads, ${all.map(({ name }) => name).join(', ')} (SEED=${seed()})`

t.test(title, { timeout: 3_600_000 }, async t => {
  if (LONG) t.strictSame(missing, [], 'every kind of back end is installed')
  let [requests, ended] = [0, 0]
  for (const [index, { name, send }] of payloads.entries()) {
    const victim = `victim-${index}.`
    const all = (patience: number) =>
      Promise.all(lanes.map(lane => shoot(lane, send, victim, patience)))
    let outcomes = await all(QUIET)
    // A reply that was only slow is no disagreement: the second time there is ten times as long for it.
    if (disagreements(outcomes, victim).length > 0) outcomes = await all(QUIET * 10)
    for (const wrong of disagreements(outcomes, victim))
      t.fail(`${name}: ${wrong.slice(0, 2_000)}\nsent: ${send.slice(0, 1_000)}`)
    requests += outcomes[0]?.read.length ?? 0
    if (closes(outcomes[0]?.received ?? [])) ended++
  }
  t.comment(`${requests} requests were read alike, ${ended} connections ended by us`)
  t.ok(requests > payloads.length && ended > payloads.length / 10)
})

t.test('request smuggling: the comparison detects a back end that parses differently', async t => {
  const plain: Outcome = {
    read: ['one', 'two'],
    told: ['200 one'],
    received: [],
    stranger: '200 {"target":"/s/echo?stranger-v."}',
  }
  const found = (other: Partial<Outcome>) =>
    disagreements([plain, { ...plain, ...other }], 'v.').length
  t.equal(found({}), 0)
  for (const read of [['one'], ['one', 'three'], ['one', 'two', 'three']]) t.not(found({ read }), 0)
  t.equal(found({ told: ['400 '] }), 1)
  t.equal(found({ stranger: '200 {"target":"/s/smuggled"}' }), 1)
  const reply = { headers: {}, body: '', whole: true }
  t.equal(found({ received: [{ ...reply, status: 400 }] }), 1)
  const [theirs, mine] = [
    { ...reply, status: 200, body: 'v.' },
    { ...reply, status: 200 },
  ]
  t.equal(found({ received: [theirs, mine] }), 1)
})
