/** A gateway that loses the way to PostgreSQL goes on with its streams, while another one takes it
 *  for dead and ends their charges. All that it delivers is charged once it is back. */

import { globSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { audit } from '../../../plugins/ledger/audit.ts'
import { addCredit } from '../../../plugins/ledger/statements.ts'
import { listen } from '../../helpers/gateway/chat-upstream.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'
import { giveCredit } from '../../helpers/money/credit.ts'
import { startPostgres } from '../../helpers/store/postgres.ts'
import { sql } from '../../helpers/store/store.ts'
import { createTree } from '../gateway-tree.ts'
import { postgresAt } from '../stores.ts'
import { CASES, COST, routesTo, scriptOf, startStreams } from './stream-cases.ts'

t.setTimeout(300_000)

/** A way to a port that can be cut. */
const startWay = async (t: Test, port: number) => {
  const sockets = new Set<Socket>()
  let isOpen = true
  const server = createServer(client => {
    if (!isOpen) return void client.destroy()
    const other = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [client, other],
      [other, client],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  const own = await listen(t, server)
  return {
    port: own,
    set(open: boolean) {
      isOpen = open
      if (!open) for (const socket of sockets) socket.destroy()
    },
  }
}

const CREDIT = 10n ** 15n
/** `rest`: nanos that the account has left when the gateway is back; undefined: enough. */
const run = async (t: Test, rest?: bigint) => {
  const upstream = await startUpstream()
  for (const [name, each] of Object.entries(CASES)) await upstream.script(name, scriptOf(each))
  const server = await startPostgres()
  const direct = await server.create()
  const way = await startWay(t, server.port)
  const store = postgresAt(direct)
  const urls = [direct.replace(`:${server.port}`, `:${way.port}`), direct]
  const [away, other] = urls.map(url =>
    createTree(routesTo(upstream.url), url, {}, {}, { workers: 1 }),
  )
  if (!away || !other) throw new Error('two gateways')
  const trees = [away, other]
  t.teardown(async () => {
    for (const each of trees) {
      await each.stop()
      each.remove()
    }
    await server.stop()
    await upstream.stop()
  })
  await away.start()
  const key = await eventually(() => /\b(sk-[A-Za-z0-9]{20,})/.exec(away.output())?.[1])
  const database = await store.open(away.data)
  await giveCredit(database, 1, CREDIT)
  await other.start()
  const before = await balanceIn(database)
  const streams = await startStreams(away, key)
  way.set(false)
  await eventually(() => other.takeovers().length > 0 || undefined)
  // The process is reaped, with its charges: the row of the last one is closed.
  const rows = await eventually(async () => {
    const all = await database.read(sql('charges', 'SELECT state, amount FROM charges'), [])
    return all.length === streams.length && all.every(({ state }) => state !== 'open')
      ? all
      : undefined
  })
  t.ok(
    rows.every(({ amount }) => Number(amount) < COST),
    'each is charged for less',
  )
  if (rest !== undefined) {
    const amount = rest - (await balanceIn(database))
    await database.write([addCredit({ account: 1, kind: 'debit', amount, note: '', at: 0 })])
  }
  await upstream.open('end')
  for (const { name, end } of streams)
    t.match(await end, CASES[name]?.terminal ?? /^$/, `${name} ends as complete`)
  way.set(true)
  await eventually(() => globSync(join(away.data, 'owed', '*', '*.json')).length === 0 || undefined)
  const balance = await balanceIn(database)
  const debits = await database.read(
    sql('debits', "SELECT request, note FROM credits WHERE kind = 'debit' AND request IS NOT NULL"),
    [],
  )
  t.same(await audit(database), [])
  await database.close()
  return { charged: before - balance, balance, debits, count: streams.length }
}
type Database = Awaited<ReturnType<ReturnType<typeof postgresAt>['open']>>
const balanceIn = async (database: Database): Promise<bigint> => {
  const [row] = await database.read(sql('balance', 'SELECT balance FROM wallets WHERE id = 2'), [])
  return BigInt(String(row?.balance))
}

t.test('late charges: what is delivered while another gateway ends the calls', async t => {
  const { charged, debits, count } = await run(t)
  t.equal(charged, BigInt(count * COST))
  t.equal(debits.length, count)
  for (const { request, note } of debits) t.match(note, String(request).replace('late ', ''))
})

t.test('late charges: take no more than the account has left', async t => {
  const { balance, debits } = await run(t, BigInt(COST))
  t.equal(balance, 0n)
  t.ok(debits.length > 0 && debits.length < Object.keys(CASES).length, `${debits.length} debits`)
})
