/** Power cuts: every charge that a client saw acknowledged is in the ledger, whatever part of the
 *  unsynced writes reached the disk. The long form checks ten thousand disk images (`LONG=1`). */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { Row, Value } from '../../engine/plugin.ts'
import type { OpenDatabase } from '../../engine/store/database.ts'
import type { Durability } from '../../engine/store/open-database.ts'
import { toSqlite } from '../../engine/store/values.ts'
import { audit } from '../../plugins/ledger/audit.ts'
import type { Ledger } from '../../plugins/ledger/ledger.ts'
import { singleRowCharge } from '../../plugins/ledger/single-row-charge.ts'
import { walletOf } from '../../plugins/ledger/wallet.ts'
import { inMemory } from '../helpers/in-memory.ts'
import { scaled } from '../helpers/machine-speed.ts'
import { giveCredit } from '../helpers/money/credit.ts'
import { call, payerOf } from '../helpers/money/ledger.ts'
import { createChance, LONG, shortOrLong } from '../helpers/run-settings.ts'
import { ledgerOn, makeLedger } from '../helpers/store/membership.ts'
import { startStore } from '../helpers/store/store.ts'
import { type Files, type Image, imagesOf, startRecording } from './disk-images.ts'
import { canInjectFaults } from './faulty-gateway.ts'

t.setTimeout(scaled(LONG ? 1_200_000 : 60_000))
const skip = canInjectFaults() ? false : 'no strace here, or not allowed to trace'
const WAVES = shortOrLong(110, 400)

interface Recording {
  readonly before: Files
  readonly events: Awaited<ReturnType<Awaited<ReturnType<typeof startRecording>>['stop']>>
}
const filesOf = (file: string): Files => {
  const read = (path: string) => (existsSync(path) ? readFileSync(path) : Buffer.alloc(0))
  return { db: read(file), wal: read(`${file}-wal`) }
}
/** Concurrent calls of two processes: holds that are settled or released, and single-row
 *  charges. */
const recordCalls = async (t: Test, durability: Durability): Promise<Recording> => {
  const { writer, address, data, open } = await startStore(t, durability)
  const first = await open()
  await makeLedger(first)
  await giveCredit(first, 1, 10n ** 12n)
  const before = filesOf(address.file)
  const recorder = await startRecording(writer.pid ?? 0, join(data, 'calls.strace'))
  const chance = createChance()
  const processes = await Promise.all(
    [0, 1].map(async () => {
      const database = await open()
      return { database, ledger: ledgerOn(database) }
    }),
  )
  let callCount = 0
  const makeCall = async (): Promise<void> => {
    const { database, ledger } = processes[
      callCount % processes.length
    ] as (typeof processes)[number]
    const request = `call ${++callCount}`
    if (chance() < 0.5) return chargeInOneRow(database, ledger, request)
    const hold = await call({ database }, ledger, request, payerOf(1), 1_000n)
    await (chance() < 0.8 ? hold.settle?.(400n) : hold.release?.())
  }
  for (let wave = 0; wave < WAVES; wave++)
    await Promise.all(Array.from({ length: 1 + Math.floor(chance() * 12) }, makeCall))
  const events = await recorder.stop()
  for (const { ledger } of processes) await ledger.close()
  return { before, events }
}
const chargeInOneRow = async (
  database: OpenDatabase,
  ledger: Ledger,
  request: string,
): Promise<void> => {
  await ledger.take(payerOf(1), 1_000n)
  const process = await ledger.process()
  const row = { route: 'chat', model: 'm', version: 1, rule: '', openedAt: Date.now(), process }
  const settled = { amount: 400n, uncollected: 0n, isEstimated: false, usage: '{}', lines: '[]' }
  await database.write(
    singleRowCharge(
      { request, account: 1, key: undefined, holdsKeyQuota: false, heldAmount: 1_000n, ...row },
      { ...settled, closedAt: Date.now(), wallets: [walletOf.account(1)] },
      {},
    ),
  )
  ledger.give(payerOf(1), 600n, process)
}

/** The faults in an image after SQLite recovered it. */
const faultsOf = async (
  { files, acknowledged }: Image,
  file: string,
): Promise<readonly string[]> => {
  for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
  writeFileSync(file, files.db)
  writeFileSync(`${file}-wal`, files.wal)
  const database = new DatabaseSync(file)
  try {
    const ask = (text: string, values: readonly Value[] = []) =>
      database.prepare(text).all(...values.map(toSqlite)) as Row[]
    const whole = ask('PRAGMA integrity_check').map(row => String(row.integrity_check))
    const states = new Map(
      ask('SELECT request, state FROM charges').map(row => [String(row.request), row.state]),
    )
    const lostCharges = acknowledged.filter(
      ({ request, closed }) => !states.has(request) || (closed && states.get(request) === 'open'),
    )
    const findings = await audit({ read: async ({ text }, values) => ask(text, values) })
    return [
      ...whole.filter(each => each !== 'ok'),
      ...lostCharges.map(({ request }) => `${request} was acknowledged, and is lost`),
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
const checkImages = async ({ before, events }: Recording, count: number) => {
  const bad = new Map<string, string>()
  let [imageCount, acknowledgedCount] = [0, 0]
  for (const image of imagesOf(before, events, count, createChance())) {
    const [fault] = await faultsOf(image, join(folder, 'image.db'))
    if (fault !== undefined) bad.set(`image ${imageCount}, ${image.way}`, fault)
    imageCount++
    acknowledgedCount += image.acknowledged.length
  }
  return { bad: Object.fromEntries(bad), imageCount, acknowledgedCount }
}

t.test('power loss: no acknowledged charge is lost, and the ledger balances', { skip }, async t => {
  const recording = await recordCalls(t, 'power')
  const isCheckpointed = recording.events.some(
    event => event.kind === 'sync' && event.name === 'db',
  )
  t.ok(isCheckpointed, 'the log was checkpointed during the calls')
  const count = shortOrLong(200, 10_000)
  const { bad, imageCount, acknowledgedCount } = await checkImages(recording, count)
  t.same(bad, {})
  t.equal(imageCount, count)
  t.ok(
    acknowledgedCount > count,
    `${acknowledgedCount} acknowledgements in ${recording.events.length} events`,
  )
})

t.test(
  'power loss: without a sync for each commit the check finds lost charges',
  { skip },
  async t => {
    const { bad } = await checkImages(await recordCalls(t, 'process'), 50)
    t.match(Object.values(bad).join('\n'), /was acknowledged, and is lost/)
    t.notMatch(
      Object.values(bad).join('\n'),
      /malformed|corrupt|balance/i,
      'but nothing is corrupt',
    )
  },
)
