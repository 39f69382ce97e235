/** Streams that a kill of the whole gateway cuts, while the store is killed repeatedly during the
 *  recovery: delivered words are charged, and a stream without delivered words is not. The long
 *  form tries 50 timings. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { Row } from '../../engine/plugin.ts'
import { audit } from '../../plugins/ledger/audit.ts'
import { eventually } from '../helpers/gateway/primary.ts'
import { scaled } from '../helpers/machine-speed.ts'
import { createChance, LONG, shortOrLong } from '../helpers/run-settings.ts'
import { sql } from '../helpers/store/store.ts'
import { createTree, type Tree } from './gateway-tree.ts'
import { createPayers } from './ledger-report.ts'
import { STORES, type StoreName, type StoreSetup } from './stores.ts'

t.setTimeout(scaled(LONG ? 3_600_000 : 240_000))
const STREAMS = 6
/** 1 / 1k: nanos per word. */
const PRICE = 1_000_000n
/** Words that each client gets before the kill. */
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
/** Writes a word every 20 ms; for requests with "silent" in the body, nothing. */
const startUpstream = async (t: Test): Promise<number> => {
  const sendWords = async (response: ServerResponse): Promise<void> => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (; !response.destroyed; await pause(20)) response.write(WORD)
  }
  const server = createServer((request, response) => {
    response.on('error', () => {})
    let text = ''
    request.setEncoding('utf8').on('data', part => {
      text += part
    })
    request.on('end', () => text.includes('"silent"') || void sendWords(response))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

interface StreamProgress {
  id: string
  words: number
}
/** Reads one stream until it is cut. */
const readStream = async (
  url: string,
  key: string,
  user: string,
  progress: StreamProgress,
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
  progress.id =
    response.headers.get('x-tollgate-request') ?? response.headers.get('x-request-id') ?? ''
  let text = ''
  for await (const part of response.body ?? []) {
    text += Buffer.from(part).toString()
    progress.words = text.split('"content":"word"').length - 1
  }
}
const openStreams = (
  url: string,
  key: string,
  user: string,
  signal = new AbortController().signal,
): readonly StreamProgress[] =>
  Array.from({ length: STREAMS }, () => {
    const progress = { id: '', words: 0 }
    readStream(url, key, user, progress, signal).catch(() => {})
    return progress
  })
const haveWords = (streams: readonly StreamProgress[]): true | undefined =>
  streams.every(({ words }) => words >= DELIVERED) || undefined

const startGatewayOn = async (t: Test, store: StoreName) => {
  const setup = await STORES[store]()
  const routes = routesTo(await startUpstream(t))
  const tree = createTree(routes, setup.url, {})
  t.teardown(async () => {
    await tree.stop().catch(() => {})
    tree.remove()
    await setup.end()
  })
  await tree.start()
  const key = await eventually(() => /\b(sk-[A-Za-z0-9]{20,})/.exec(tree.output())?.[1])
  const database = await setup.open(tree.data)
  await createPayers(database, 0, PRICE, () => '')
  await database.close()
  return { setup, tree, key, routes }
}
/** All charges and audit findings, after no hold is open. */
const readCharges = async (setup: StoreSetup, tree: Tree) => {
  const database = await setup.open(tree.data)
  try {
    const text = 'SELECT request, state, amount, usage FROM charges'
    const rows = await eventually(async () => {
      const chargeRows = await database.read(sql('charges', text), [])
      return chargeRows.some(({ state }) => state === 'open') ? undefined : chargeRows
    })
    return {
      rows: new Map(rows.map(row => [String(row.request), row])),
      findings: await audit(database),
    }
  } finally {
    await database.close()
  }
}

/** Waits until every stream has a hold and on-crash statements. */
const untilHoldsOpen = async (setup: StoreSetup, tree: Tree): Promise<void> => {
  const database = await setup.open(tree.data)
  const holds = sql('held', "SELECT count(*) AS held FROM charges WHERE state = 'open'")
  const crashStatements = sql('wills', 'SELECT count(*) AS wills FROM tollgate_wills')
  await eventually(async () => {
    const [[charge], [statements]] = [
      await database.read(holds, []),
      await database.read(crashStatements, []),
    ]
    return (charge?.held === STREAMS && statements?.wills === STREAMS) || undefined
  })
  await database.close()
}
/** Streams that are charged for fewer words than their client received. */
const underchargedIn = (rows: ReadonlyMap<string, Row>, streams: readonly StreamProgress[]) =>
  streams.filter(({ id, words }) => {
    const row = rows.get(id)
    return row?.state !== 'settled' || JSON.parse(String(row.usage)).output < words
  })

const chance = createChance()
/** Milliseconds after the restart at which the store is killed. The first kills may stop the reaper
 *  at any step, and the second ones before its next check. */
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
  t.test(
    `recovery (${store}): charges exactly the delivered words while the store is killed`,
    async t => {
      const { setup, tree, key } = await startGatewayOn(t, store)
      for (const timing of TIMINGS.slice(0, shortOrLong(2, TIMINGS.length))) {
        const streams = openStreams(tree.url(), key, 'talking')
        await eventually(() => haveWords(streams))
        await tree.kill('all', chance)
        await pause(100)
        await tree.start()
        const restart = performance.now()
        for (const at of timing) {
          await pause(Math.max(0, at - (performance.now() - restart)))
          if (!(await setup.harm('backends', chance))) await tree.kill('writer', chance)
        }
        const { rows, findings } = await readCharges(setup, tree)
        const times = timing.map(Math.round).join(', ')
        t.same(
          underchargedIn(rows, streams),
          [],
          `all are charged; the store was killed after ${times} ms`,
        )
        t.same(findings, [], 'the ledger balances')
      }
      const before = (await readCharges(setup, tree)).rows
      openStreams(tree.url(), key, 'silent')
      await untilHoldsOpen(setup, tree)
      await tree.kill('all', chance)
      await tree.start()
      const { rows, findings } = await readCharges(setup, tree)
      const silent = [...rows.values()].filter(({ request }) => !before.has(String(request)))
      t.same(
        silent.map(({ state }) => state),
        Array(STREAMS).fill('released'),
        'a stream whose client got no byte is not charged',
      )
      t.same(findings, [], 'the ledger balances')
    },
  )

t.test(
  'recovery (postgres): words of a killed worker are charged while two gateways share the store',
  async t => {
    const { setup, tree, key, routes } = await startGatewayOn(t, 'postgres')
    const second = createTree(routes, setup.url, {})
    t.teardown(async () => {
      await second.stop().catch(() => {})
      second.remove()
    })
    await second.start()
    const trees = [tree, second]
    for (let round = 0; round < shortOrLong(1, 100); round++) {
      const abort = new AbortController()
      const streams = trees.flatMap(each => openStreams(each.url(), key, 'talking', abort.signal))
      await eventually(() => haveWords(streams))
      await Promise.all(trees.map(each => each.kill('worker', chance)))
      abort.abort()
      const { rows, findings } = await readCharges(setup, tree)
      t.same(underchargedIn(rows, streams), [], 'no delivered word is lost')
      t.same(findings, [], 'the ledger balances')
      await Promise.all(trees.map(each => each.untilRecovered()))
    }
  },
)
