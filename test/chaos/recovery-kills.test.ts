/** Streams that a kill of the whole gateway cuts off, while its store dies again and again during
 *  the recovery: what was delivered is charged, and a stream whose client got nothing is not. The
 *  long form tries 50 timings. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { Row } from '../../engine/plugin.ts'
import { audit } from '../../plugins/ledger/audit.ts'
import { LONG, scaled } from '../helpers/long.ts'
import { eventually } from '../helpers/primary.ts'
import { createChance } from '../helpers/seeded.ts'
import { sql } from '../helpers/store.ts'
import { givePayers } from './books.ts'
import { type Ground, STORES, type StoreName } from './stores.ts'
import { createTree, type Tree } from './tree.ts'

t.setTimeout(LONG ? 3_600_000 : 240_000)
const STREAMS = 6
/** Nanos: 1 / 1k. */
const PRICE = 1_000_000n
/** Words before the kill. */
const DELIVERED = 20
const WORD = 'data: {"choices":[{"index":0,"delta":{"content":"word"},"finish_reason":null}]}\n\n'
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

const routesTo = (port: number): string => `
pipeline: [errors, auth, model, meter, translate]
upstreams: { up: { url: 'http://127.0.0.1:${port}' } }
models:
  words: { to: up, price: { input: 1 / 1k, output: 1 / 1k }, output: 5000 }
routes:
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat }
`
/** Writes a word every 20 ms; to those that ask for silence nothing at all. */
const startUpstream = async (t: Test): Promise<number> => {
  const speak = async (response: ServerResponse): Promise<void> => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (; !response.destroyed; await pause(20)) response.write(WORD)
  }
  const server = createServer((request, response) => {
    response.on('error', () => {})
    let text = ''
    request.setEncoding('utf8').on('data', part => {
      text += part
    })
    request.on('end', () => text.includes('"silent"') || void speak(response))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

interface Delivered {
  id: string
  words: number
}
/** One stream, read until it is cut. */
const read = async (
  url: string,
  key: string,
  user: string,
  delivered: Delivered,
  signal: AbortSignal,
) => {
  const body = { model: 'words', stream: true, max_tokens: 5_000, user, messages: [] }
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    signal,
  })
  delivered.id =
    response.headers.get('x-tollgate-request') ?? response.headers.get('x-request-id') ?? ''
  let text = ''
  for await (const part of response.body ?? []) {
    text += Buffer.from(part).toString()
    delivered.words = text.split('"content":"word"').length - 1
  }
}
const openStreams = (
  url: string,
  key: string,
  user: string,
  signal = new AbortController().signal,
): readonly Delivered[] =>
  Array.from({ length: STREAMS }, () => {
    const delivered = { id: '', words: 0 }
    read(url, key, user, delivered, signal).catch(() => {})
    return delivered
  })
const areDelivered = (streams: readonly Delivered[]): true | undefined =>
  streams.every(({ words }) => words >= DELIVERED) || undefined

const begin = async (t: Test, store: StoreName) => {
  const ground = await STORES[store]()
  const routes = routesTo(await startUpstream(t))
  const tree = createTree(routes, ground.url, {})
  t.teardown(async () => {
    await tree.stop().catch(() => {})
    tree.remove()
    await ground.end()
  })
  await tree.start()
  const key = await eventually(() => /\b(sk-[A-Za-z0-9]{20,})/.exec(tree.output())?.[1])
  const database = await ground.open(tree.data)
  await givePayers(database, 0, PRICE, () => '')
  await database.close()
  return { ground, tree, key, routes }
}
/** Every charge, once nothing is held any more. */
const charges = async (ground: Ground, tree: Tree) => {
  const database = await ground.open(tree.data)
  try {
    const text = 'SELECT request, state, amount, usage FROM charges'
    const rows = await eventually(async () => {
      const found = await database.read(sql('charges', text), [])
      return found.some(({ state }) => state === 'open') ? undefined : found
    })
    return {
      rows: new Map(rows.map(row => [String(row.request), row])),
      findings: await audit(database),
    }
  } finally {
    await database.close()
  }
}

/** Until every stream is held, with its on-crash statements. */
const untilHeld = async (ground: Ground, tree: Tree): Promise<void> => {
  const database = await ground.open(tree.data)
  const held = sql('held', "SELECT count(*) AS held FROM charges WHERE state = 'open'")
  const wills = sql('wills', 'SELECT count(*) AS wills FROM tollgate_wills')
  await eventually(async () => {
    const [[charge], [will]] = [await database.read(held, []), await database.read(wills, [])]
    return (charge?.held === STREAMS && will?.wills === STREAMS) || undefined
  })
  await database.close()
}
/** Streams that are charged for fewer words than their client has. */
const underchargedIn = (rows: ReadonlyMap<string, Row>, streams: readonly Delivered[]) =>
  streams.filter(({ id, words }) => {
    const row = rows.get(id)
    return row?.state !== 'settled' || JSON.parse(String(row.usage)).output < words
  })

const chance = createChance()
/** Kills of the store during the recovery, ms after the restart: short spans first. The reaper may
 *  be stopped at any of its steps by the first, and by the second before it looks again. */
const TIMINGS = [
  [200, 500, 900],
  ...drawTimings(1, 700),
  [3_000, 6_000, 9_000],
  [2_000, 4_000, 6_000, 8_000],
  [1_600, 2_800, 4_500, 6_000, 8_100],
  ...drawTimings(45, 4_000),
]
function drawTimings(count: number, longest: number): readonly number[][] {
  return Array.from({ length: count }, () => {
    let at = 0
    const gap = 100 + chance() * (longest - 100)
    const kills = 1 + Math.floor(chance() * 5)
    return Array.from({ length: kills }, () => (at += gap * (0.8 + chance() * 0.4)))
  })
}

for (const store of Object.keys(STORES) as StoreName[])
  t.test(`${store}: a recovery charges what was delivered and nothing else`, async t => {
    const { ground, tree, key } = await begin(t, store)
    for (const timing of TIMINGS.slice(0, scaled(2, TIMINGS.length))) {
      const streams = openStreams(tree.url(), key, 'talking')
      await eventually(() => areDelivered(streams))
      await tree.kill('all', chance)
      await pause(100)
      await tree.start()
      const restarted = performance.now()
      for (const at of timing) {
        await pause(Math.max(0, at - (performance.now() - restarted)))
        if (!(await ground.harm('backends', chance))) await tree.kill('writer', chance)
      }
      const { rows, findings } = await charges(ground, tree)
      const times = timing.map(Math.round).join(', ')
      t.same(underchargedIn(rows, streams), [], `all are charged; the store died after ${times} ms`)
      t.same(findings, [], 'the books balance')
    }
    const before = (await charges(ground, tree)).rows
    openStreams(tree.url(), key, 'silent')
    await untilHeld(ground, tree)
    await tree.kill('all', chance)
    await tree.start()
    const { rows, findings } = await charges(ground, tree)
    const silent = [...rows.values()].filter(({ request }) => !before.has(String(request)))
    t.same(
      silent.map(({ state }) => state),
      Array(STREAMS).fill('released'),
      'a stream whose client got no byte is not charged',
    )
    t.same(findings, [], 'the books balance')
  })

t.test(
  'postgres: words of a killed worker are charged though two gateways share the store',
  async t => {
    const { ground, tree, key, routes } = await begin(t, 'postgres')
    const second = createTree(routes, ground.url, {})
    t.teardown(async () => {
      await second.stop().catch(() => {})
      second.remove()
    })
    await second.start()
    const trees = [tree, second]
    for (let round = 0; round < scaled(1, 100); round++) {
      const hangup = new AbortController()
      const streams = trees.flatMap(each => openStreams(each.url(), key, 'talking', hangup.signal))
      await eventually(() => areDelivered(streams))
      await Promise.all(trees.map(each => each.kill('worker', chance)))
      hangup.abort()
      const { rows, findings } = await charges(ground, tree)
      t.same(underchargedIn(rows, streams), [], 'no delivered word is lost')
      t.same(findings, [], 'the books balance')
      await Promise.all(trees.map(each => each.recovered()))
    }
  },
)
