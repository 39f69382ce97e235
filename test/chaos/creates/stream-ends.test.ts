/** A stream whose text is complete ends as complete although the store is away, in every format;
 *  its charge is on disk, and written when the store is back, also by another process. */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { patient, TIMEOUTS } from '../../../engine/store/timeouts.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'
import { giveCredit } from '../../helpers/money/credit.ts'
import { startPostgres } from '../../helpers/store/postgres.ts'
import { sql } from '../../helpers/store/store.ts'
import { createTree, type Tree, writerOf } from '../gateway-tree.ts'
import { postgresAt, STORES, type StoreSetup } from '../stores.ts'
import { CASES, COST, headersOf, routesTo, scriptOf, startStreams } from './stream-cases.ts'

t.setTimeout(300_000)

/** ms: longer than the store has to answer, and than a process trusts its Idempotency-Keys. */
const OUTAGE = patient(TIMEOUTS.suspect) + 1_500
interface Store extends Pick<StoreSetup, 'url' | 'open' | 'end'> {
  away(tree: Tree): Promise<void>
  back(tree: Tree): Promise<void>
}
const OPEN: Readonly<Record<string, () => Promise<Store>>> = {
  async sqlite() {
    const setup = await STORES.sqlite()
    let writer = 0
    return {
      ...setup,
      async away(tree) {
        writer = writerOf(tree.pid()) ?? 0
        process.kill(writer, 'SIGSTOP')
      },
      back: async () => void process.kill(writer, 'SIGCONT'),
    }
  },
  async postgres() {
    const server = await startPostgres()
    return {
      ...postgresAt(await server.create()),
      end: () => server.stop(),
      away: () => server.stop(),
      back: () => server.start(),
    }
  },
}

const sendAgain = (tree: Tree, key: string, name: string): Promise<Response> => {
  const { path = '', body } = CASES[name] ?? {}
  return fetch(tree.url() + path, {
    method: 'POST',
    body: JSON.stringify({ model: name, ...body }),
    headers: headersOf(key),
  })
}

const runStreams = async (t: Test, open: () => Promise<Store>, isKilled: boolean) => {
  const upstream = await startUpstream()
  for (const [name, each] of Object.entries(CASES)) await upstream.script(name, scriptOf(each))
  const store = await open()
  const tree = createTree(routesTo(upstream.url), store.url, {}, {}, { workers: 1 })
  t.teardown(async () => {
    await tree.stop()
    tree.remove()
    await store.end()
    await upstream.stop()
  })
  await tree.start()
  const key = await eventually(() => /\b(sk-[A-Za-z0-9]{20,})/.exec(tree.output())?.[1])
  const before = await store.open(tree.data)
  await giveCredit(before, 1, 10n ** 15n)
  await before.close()
  const streams = await startStreams(tree, key)
  await store.away(tree)
  await pause(OUTAGE)
  await upstream.open('end')
  for (const { name, end } of streams) {
    const received = await end
    t.match(received, CASES[name]?.terminal ?? /^$/, `${name} ends as complete`)
    t.notMatch(received, /Retry|"error"/, name)
  }
  const owed = globSync(join(tree.data, 'owed', '*', '*.json'))
  t.equal(owed.length, streams.length, 'each charge is on disk')
  if (isKilled) tree.signal('SIGKILL')
  await store.back(tree)
  if (isKilled) await tree.start()
  const database = await store.open(tree.data)
  const settled = await eventually(async () => {
    const rows = await database.read(
      sql('charges', 'SELECT state, amount, estimated FROM charges ORDER BY route'),
      [],
    )
    return rows.every(({ state }) => state === 'settled') ? rows : undefined
  })
  const expected = streams.map(() => ({ state: 'settled', amount: COST, estimated: 0 }))
  t.match(settled, expected, 'each is charged what its upstream reported')
  await eventually(() => globSync(join(tree.data, 'owed', '*', '*.json')).length === 0 || undefined)
  for (const { name, end } of streams) {
    const again = await sendAgain(tree, key, name)
    t.equal(again.headers.get('idempotent-replayed'), 'true', `${name} is stored under its key`)
    t.equal(await again.text(), await end, name)
  }
  await database.close()
}

for (const [engine, open] of Object.entries(OPEN)) {
  t.test(`streams (${engine}): end as complete while the store is away`, t =>
    runStreams(t, open, false),
  )
  t.test(`streams (${engine}): are charged after a crash before the store is back`, t =>
    runStreams(t, open, true),
  )
}
