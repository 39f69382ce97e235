/** A power cut: whoever was told that a charge is in the books finds it there, whatever the disk had of what was not synced.
 *  The long form looks at ten thousand images of it (`LONG=1`). */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { Row } from '../../engine/plugin.ts'
import type { OpenDatabase } from '../../engine/store/database.ts'
import type { Durability } from '../../engine/store/open-database.ts'
import { audit } from '../../plugins/ledger/audit.ts'
import type { Ledger } from '../../plugins/ledger/ledger.ts'
import { singleRowCharge } from '../../plugins/ledger/single-row-charge.ts'
import { walletOf } from '../../plugins/ledger/wallet.ts'
import { giveCredit } from '../helpers/credit.ts'
import { call, payer } from '../helpers/ledger.ts'
import { LONG, scaled } from '../helpers/long.ts'
import { ledgerOn, makeLedger } from '../helpers/membership.ts'
import { inMemory } from '../helpers/postgres.ts'
import { createChance } from '../helpers/seeded.ts'
import { startStore } from '../helpers/store.ts'
import { type Files, type Image, imagesOf, record } from './power.ts'
import { canSpoil } from './trouble.ts'

t.setTimeout(LONG ? 1_200_000 : 60_000)
const without = canSpoil() ? false : 'no strace here, or not allowed to trace'
const WAVES = scaled(110, 400)

interface Recorded {
  readonly before: Files
  readonly events: Awaited<ReturnType<Awaited<ReturnType<typeof record>>['stop']>>
}
const filesOf = (file: string): Files => {
  const read = (path: string) => (existsSync(path) ? readFileSync(path) : Buffer.alloc(0))
  return { db: read(file), wal: read(`${file}-wal`) }
}
/** Calls of two processes, many at once: held, settled, given back, and charged in one. */
const recordCalls = async (t: Test, durability: Durability): Promise<Recorded> => {
  const { writer, address, data, open } = await startStore(t, durability)
  const first = await open()
  await makeLedger(first)
  await giveCredit(first, 1, 10n ** 12n)
  const before = filesOf(address.file)
  const recorded = await record(writer.pid ?? 0, join(data, 'calls.strace'))
  const chance = createChance()
  const processes = await Promise.all(
    [0, 1].map(async () => {
      const database = await open()
      return { database, ledger: ledgerOn(database) }
    }),
  )
  let made = 0
  const one = async (): Promise<void> => {
    const { database, ledger } = processes[made % processes.length] as (typeof processes)[number]
    const request = `call ${++made}`
    if (chance() < 0.5) return atOnce(database, ledger, request)
    const held = await call({ database }, ledger, request, payer(1), 1_000n)
    await (chance() < 0.8 ? held.settle?.(400n) : held.release?.())
  }
  for (let wave = 0; wave < WAVES; wave++)
    await Promise.all(Array.from({ length: 1 + Math.floor(chance() * 12) }, one))
  const events = await recorded.stop()
  for (const { ledger } of processes) await ledger.close()
  return { before, events }
}
const atOnce = async (database: OpenDatabase, ledger: Ledger, request: string): Promise<void> => {
  await ledger.take(payer(1), 1_000n)
  const process = await ledger.process()
  const row = { route: 'chat', model: 'm', version: 1, rule: '', openedAt: Date.now(), process }
  const settled = { amount: 400n, uncollected: 0n, isEstimated: false, usage: '{}', lines: '[]' }
  await database.write(
    singleRowCharge(
      { request, account: 1, key: undefined, holdsKeyQuota: false, heldAmount: 1_000n, ...row },
      { ...settled, closedAt: Date.now(), wallets: [walletOf.account(1)] },
    ),
  )
  ledger.give(payer(1), 600n, process)
}

/** What is wrong with it once SQLite has read it again. */
const faultsOf = async ({ files, told }: Image, file: string): Promise<readonly string[]> => {
  for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
  writeFileSync(file, files.db)
  writeFileSync(`${file}-wal`, files.wal)
  const database = new DatabaseSync(file)
  try {
    const ask = (text: string) => database.prepare(text).all() as Row[]
    const whole = ask('PRAGMA integrity_check').map(row => String(row.integrity_check))
    const states = new Map(
      ask('SELECT request, state FROM charges').map(row => [String(row.request), row.state]),
    )
    const lost = told.filter(
      ({ request, closed }) => !states.has(request) || (closed && states.get(request) === 'open'),
    )
    const findings = await audit({ read: async ({ text }) => ask(text) })
    return [
      ...whole.filter(each => each !== 'ok'),
      ...lost.map(({ request }) => `${request} was answered, and is lost`),
      ...findings.map(({ rule, detail }) => `${rule}: ${detail}`),
    ]
  } catch (error) {
    return [String(error)]
  } finally {
    database.close()
  }
}
const folder = mkdtempSync(join(inMemory(), 'tollgate-images-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const look = async ({ before, events }: Recorded, count: number) => {
  const bad = new Map<string, string>()
  let [looked, known] = [0, 0]
  for (const image of imagesOf(before, events, count, createChance())) {
    const [fault] = await faultsOf(image, join(folder, 'image.db'))
    if (fault !== undefined) bad.set(`image ${looked}, ${image.way}`, fault)
    looked++
    known += image.told.length
  }
  return { bad: Object.fromEntries(bad), looked, known }
}

t.test('nobody who was told loses it, and the books balance', { skip: without }, async t => {
  const recorded = await recordCalls(t, 'power')
  const moved = recorded.events.some(event => event.kind === 'sync' && event.name === 'db')
  t.ok(moved, 'meanwhile the log was moved into the file')
  const count = scaled(200, 10_000)
  const { bad, looked, known } = await look(recorded, count)
  t.same(bad, {})
  t.equal(looked, count)
  t.ok(known > count, `${known} answers stood in ${recorded.events.length} events`)
})

t.test(
  'without a sync for each commit the same look finds what is lost',
  { skip: without },
  async t => {
    const { bad } = await look(await recordCalls(t, 'process'), 50)
    t.match(Object.values(bad).join('\n'), /was answered, and is lost/)
    t.notMatch(Object.values(bad).join('\n'), /malformed|corrupt|balance/i, 'but nothing is broken')
  },
)
