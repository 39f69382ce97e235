/** Streams that a kill of the whole gateway cuts off, while its store dies again and again during
 *  the recovery: what was delivered is charged, and a stream whose client got nothing is not. The
 *  long form tries 50 timings. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
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
const read = async (url: string, key: string, user: string, delivered: Delivered) => {
  const body = { model: 'words', stream: true, max_tokens: 5_000, user, messages: [] }
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}/v1/chat/completions`, {
    ...{ method: 'POST', headers, body: JSON.stringify(body) },
  })
  delivered.id =
    response.headers.get('x-tollgate-request') ?? response.headers.get('x-request-id') ?? ''
  let text = ''
  for await (const part of response.body ?? []) {
    text += Buffer.from(part).toString()
    delivered.words = text.split('"content":"word"').length - 1
  }
}
const openStreams = (url: string, key: string, user: string): readonly Delivered[] =>
  Array.from({ length: STREAMS }, () => {
    const delivered = { id: '', words: 0 }
    read(url, key, user, delivered).catch(() => {})
    return delivered
  })

const begin = async (t: Test, store: StoreName) => {
  const ground = await STORES[store]()
  const tree = createTree(routesTo(await startUpstream(t)), ground.url, {})
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
  return { ground, tree, key }
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

const chance = createChance()
/** Kills of the store during the recovery, ms after the restart: those that lost money once come
 *  first. */
const TIMINGS = [
  [3_000, 6_000, 9_000],
  [300, 900, 1_500, 2_100],
  ...Array.from({ length: 48 }, () => {
    let at = 0
    const gap = 100 + chance() * 3_900
    return Array.from(
      { length: 1 + Math.floor(chance() * 5) },
      () => (at += gap * (0.8 + chance() * 0.4)),
    )
  }),
]

for (const store of Object.keys(STORES) as StoreName[]) {
  t.test(
    `${store}: delivered words are charged, however often the store dies in the recovery`,
    async t => {
      const { ground, tree, key } = await begin(t, store)
      for (const timing of TIMINGS.slice(0, scaled(2, TIMINGS.length))) {
        const streams = openStreams(tree.url(), key, 'talking')
        await eventually(() => streams.every(({ words }) => words >= DELIVERED) || undefined)
        await tree.kill('all', chance)
        await pause(100)
        await tree.start()
        const restarted = performance.now()
        for (const at of timing) {
          await pause(Math.max(0, at - (performance.now() - restarted)))
          if (!(await ground.harm('backends', chance))) await tree.kill('writer', chance)
        }
        const { rows, findings } = await charges(ground, tree)
        const wrong = streams.filter(({ id, words }) => {
          const row = rows.get(id)
          return row?.state !== 'settled' || BigInt(String(row.amount)) < BigInt(words) * PRICE
        })
        const times = timing.map(Math.round).join(', ')
        t.same(wrong, [], `all ${STREAMS} are charged; the store died after ${times} ms`)
        t.same(findings, [], 'the books balance')
      }
    },
  )

  t.test(
    `${store}: a stream whose client got no byte is not charged when all is killed`,
    async t => {
      const { ground, tree, key } = await begin(t, store)
      openStreams(tree.url(), key, 'silent')
      const database = await ground.open(tree.data)
      const held = sql('held', 'SELECT count(*) AS held FROM charges')
      const wills = sql('wills', 'SELECT count(*) AS wills FROM tollgate_wills')
      await eventually(async () => {
        const [[charge], [will]] = [await database.read(held, []), await database.read(wills, [])]
        return (charge?.held === STREAMS && will?.wills === STREAMS) || undefined
      })
      await database.close()
      await tree.kill('all', chance)
      await tree.start()
      const { rows, findings } = await charges(ground, tree)
      t.same(
        [...rows.values()].map(({ state }) => state),
        Array(STREAMS).fill('released'),
      )
      t.same(findings, [], 'the books balance')
    },
  )
}
