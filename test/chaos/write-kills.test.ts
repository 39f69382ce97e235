/** The writer of the embedded store, killed at its first write, at its second, and so on, during
 *  calls of two processes: every acknowledged write is stored once, and no caller has to repeat
 *  it. */
import { once } from 'node:events'
import t from 'tap'
import { audit } from '../../plugins/ledger/audit.ts'
import { scaled } from '../helpers/machine-speed.ts'
import { giveCredit } from '../helpers/money/credit.ts'
import { call, payerOf } from '../helpers/money/ledger.ts'
import { createChance, LONG, shortOrLong } from '../helpers/run-settings.ts'
import { ledgerOn, makeLedger } from '../helpers/store/membership.ts'
import { sql, startStore } from '../helpers/store/store.ts'
import { canInjectFaults, injectFault } from './faulty-gateway.ts'

t.setTimeout(scaled(LONG ? 1_200_000 : 120_000))
const skip = canInjectFaults() ? false : 'no strace here, or not allowed to trace'
const POINTS = shortOrLong(50, 500)

t.test(
  `writer kills: no acknowledged call is lost or repeated at ${POINTS} writes`,
  { skip },
  async t => {
    const store = await startStore(t)
    const processes = await Promise.all(
      [0, 1].map(async () => {
        const database = await store.open()
        return { database, ledger: ledgerOn(database) }
      }),
    )
    const [{ database }] = processes as [(typeof processes)[0]]
    await makeLedger(database)
    await giveCredit(database, 1, 10n ** 12n)
    const chance = createChance()
    const ends = new Map<string, string>()
    let isOver = false
    let callCount = 0
    const callers = processes.map(async own => {
      while (!isOver) {
        const request = `call ${++callCount}`
        const hold = await call(own, own.ledger, request, payerOf(1), 1_000n)
        const settles = chance() < 0.8
        await (settles ? hold.settle?.(400n) : hold.release?.())
        ends.set(request, settles ? 'settled' : 'released')
      }
    })
    for (let point = 1; point <= POINTS; point++) {
      const { writer } = store
      const exit = once(writer, 'exit')
      await injectFault(writer.pid ?? 0, `pwrite64:signal=SIGKILL:when=${point}`)
      t.same(await exit, [null, 'SIGKILL'])
      await store.respawn()
    }
    isOver = true
    await Promise.all(callers)

    const rows = await database.read(sql('all', 'SELECT request, state FROM charges'), [])
    t.same(new Map(rows.map(({ request, state }) => [request, state])), ends)
    t.same(await audit(database), [])
    const spentAmount = [...ends.values()].filter(end => end === 'settled').length * 400
    const [wallet] = await database.read(sql('wallet', 'SELECT used FROM wallets'), [])
    t.equal(wallet?.used, spentAmount)
    t.comment(`${ends.size} calls`)
    for (const { ledger } of processes) await ledger.close()
  },
)
