/** Refused calls of an ended process: each is refunded once, when the process has no lease. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Log } from '../../../../engine/plugin.ts'
import { RefusedCalls } from '../../../../plugins/ledger/refunds/refused-calls.ts'
import { walletOf } from '../../../../plugins/ledger/wallet.ts'
import { giveCredit } from '../../../helpers/money/credit.ts'
import { makeLedger } from '../../../helpers/store/membership.ts'
import { ENGINES, sql, startAnyStore, temporaryFolder } from '../../../helpers/store/store.ts'

const NOW = Date.now()
const CALL = { request: 'req-1', process: 'gone', account: 1, key: undefined }

for (const engine of ENGINES)
  t.test(`refused calls on ${engine}: are refunded once their process has no lease`, async t => {
    const database = await (await startAnyStore(t, engine)).open()
    await makeLedger(database)
    await giveCredit(database, 1, 10n ** 9n)
    const write = (text: string) => database.write([{ sql: sql(text, text), values: [] }])
    await write(`INSERT INTO charges (request, account, process, route, model, version, rule, state, held, amount,
      usage, lines, opened, closed) VALUES ('req-1', 1, 'gone', 'r', 'm', 1, '{}', 'settled', 1000, 700, '{}', '[]', ${NOW}, ${NOW})`)
    await write(
      `INSERT INTO shares (process, wallet, amount) VALUES ('gone', ${walletOf.account(1)}, 0)`,
    )
    const folder = temporaryFolder(t)
    const messages: string[] = []
    const note = (_: object, message: string): void => void messages.push(message)
    const log = { info: note, warn: note, debug: note } as unknown as Log
    const calls = new RefusedCalls(() => folder, database, log)
    calls.add(CALL)
    await calls.refundAbandoned()
    t.equal(readdirSync(folder).length, 1, 'its process may still charge it')
    await write("DELETE FROM shares WHERE process = 'gone'")
    await calls.refundAbandoned()
    t.same(readdirSync(folder), [])
    t.same(messages, ['a refused call was refunded'])
    calls.add(CALL)
    await calls.refundAbandoned()
    t.same(readdirSync(folder), [], 'a call that was refunded before')
    t.equal(messages.length, 1)
    writeFileSync(join(folder, 'damaged.json'), '{')
    await calls.refundAbandoned()
    t.match(messages.at(-1), /cannot be refunded yet/)
    new RefusedCalls(() => join(folder, 'absent'), database, log).add(CALL)
    t.match(messages.at(-1), /would not refund this call/)
  })
