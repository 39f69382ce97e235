/** PostgreSQL, lost result of a COMMIT: the list is applied once, and a repetition of it returns
 *  the result. */
import t, { type Test } from 'tap'
import { audit } from '../../../../plugins/ledger/audit.ts'
import { singleRowCharge } from '../../../../plugins/ledger/single-row-charge.ts'
import { openCharge, settleCharge } from '../../../../plugins/ledger/statements.ts'
import { walletsOf } from '../../../../plugins/ledger/wallet.ts'
import { writeWithRetry } from '../../../../plugins/ledger/write-with-retry.ts'
import { scaled } from '../../../helpers/machine-speed.ts'
import { giveCredit } from '../../../helpers/money/credit.ts'
import { ledgerOn, makeLedger } from '../../../helpers/store/membership.ts'
import { sharedPostgres } from '../../../helpers/store/postgres.ts'
import { openAt, sql, statement } from '../../../helpers/store/store.ts'
import { startProxy } from './swallowing-proxy.ts'

const table = {
  number: 1,
  text: `CREATE TABLE total (id BIGINT PRIMARY KEY, sum BIGINT NOT NULL CHECK (sum < 100));
    INSERT INTO total VALUES (1, 0)`,
}
// Not idempotent: the sum shows whether the list was applied twice.
const add = (amount: number | bigint = 1) => [
  statement('add', 'UPDATE total SET sum = sum + ? WHERE id = 1 RETURNING sum', [amount], {
    violates: { total_sum_check: 'FULL' },
  }),
  statement('nothing', 'DELETE FROM total WHERE id = 2'),
]
const SUM = sql('sum', 'SELECT sum FROM total')

const begin = async (t: Test, patience: number) => {
  const server = await sharedPostgres()
  const url = await server.create()
  const proxy = await startProxy(t, server.port)
  const behind = Object.assign(new URL(url), { port: String(proxy.port) })
  const direct = await openAt(t, { url }).open()
  await direct.migrate('test', [table])
  return {
    proxy,
    direct,
    database: await openAt(t, { url: behind.href, writeTimeout: scaled(patience) }).open(),
  }
}

t.test(
  'PostgreSQL lost result: a write resolves when the client reconnects within the timeout',
  async t => {
    const { proxy, direct, database } = await begin(t, 2_000)
    const resultLoss = proxy.swallow()
    const writes = [database.write(add()), database.write(add(1_000)), database.write(add())]
    await resultLoss
    proxy.cut()
    const results = await Promise.allSettled(writes)
    t.same(
      results.map(result => (result.status === 'fulfilled' ? result.value : result.reason.code)),
      [[[{ sum: 1 }], []], 'FULL', [[{ sum: 2 }], []]],
      'each has the result that was lost',
    )
    t.same(await direct.read(SUM, []), [{ sum: 2 }])
  },
)

t.test(
  'PostgreSQL lost result: STORE_UNKNOWN after the timeout; a repeated list is applied once',
  async t => {
    const { proxy, direct, database } = await begin(t, 300)
    const list = add()
    const resultLoss = proxy.swallow()
    const write = database.write(list)
    write.catch(() => {})
    await resultLoss
    await t.rejects(write, { code: 'STORE_UNKNOWN', status: 503, headers: { 'retry-after': '1' } })
    proxy.cut()
    t.same(await direct.read(SUM, []), [{ sum: 1 }], 'the list was applied')
    const again = await Promise.all([database.write(list), database.write(list)].map(resultOrCode))
    t.same(again[0], [[{ sum: 1 }], []], 'the rows of the first result')
    t.ok(again[1])
    const [{ sum } = {}] = await direct.read(SUM, [])
    t.ok(sum === 1 || sum === 2, 'a list with a known result is written again')
  },
)

t.test('PostgreSQL lost result: a list whose COMMIT never arrived is written again', async t => {
  const { proxy, direct, database } = await begin(t, 10_000)
  const list = add()
  proxy.cut()
  const first = await resultOrCode(database.write(list))
  t.ok(first)
  t.same(await direct.read(SUM, []), [{ sum: 1 }])
})

/** A call that holds 100 nanos and costs 60, of an account with 1,000. Its process sends its
 *  heartbeat past the proxy, so that the proxy never swallows a heartbeat. */
const beginCall = async (t: Test, patience: number, request: string) => {
  const { proxy, direct, database } = await begin(t, patience)
  await makeLedger(direct)
  const ledger = ledgerOn(direct)
  t.teardown(() => ledger.close())
  await giveCredit(direct, 1, 1_000n, 1)
  t.equal(await ledger.take({ account: 1, key: undefined, quota: undefined }, 100n), undefined)
  const hold = {
    request,
    account: 1,
    key: undefined,
    holdsKeyQuota: false,
    heldAmount: 100n,
    process: await ledger.process(),
    route: 'r',
    model: 'm',
    version: 1,
    rule: '{}',
    openedAt: 2,
  }
  const settlement = {
    amount: 60n,
    uncollected: 0n,
    isEstimated: false,
    usage: '{}',
    lines: '[]',
    closedAt: 3,
    wallets: walletsOf(1, undefined),
  }
  return { proxy, direct, database, hold, settlement }
}
const CHARGED = sql('charged', 'SELECT request, state, amount FROM charges')
const WALLET = sql('wallet', 'SELECT balance, used FROM wallets WHERE id = 2')

for (const [when, patience] of [
  ['within the timeout', 2_000],
  ['after the timeout', 300],
] as const)
  for (const kind of ['with a hold', 'charged at once'] as const)
    t.test(
      `PostgreSQL lost result: a call ${kind} is charged once if the result returns ${when}`,
      async t => {
        const { proxy, direct, database, hold, settlement } = await beginCall(t, patience, 'a')
        const atOnce = kind === 'charged at once'
        if (!atOnce) await direct.write([openCharge(hold)])
        const list = atOnce
          ? singleRowCharge(hold, settlement, {})
          : [settleCharge({ request: 'a', ...settlement })]
        const resultLoss = proxy.swallow()
        const write = database.write(list)
        write.catch(() => {})
        await resultLoss
        if (when === 'after the timeout') await t.rejects(write, { code: 'STORE_UNKNOWN' })
        proxy.cut()
        await (when === 'after the timeout' ? writeWithRetry(database, list) : write)
        const expectedCode = atOnce ? 'CHARGE_EXISTS' : 'CHARGE_CLOSED'
        t.equal(
          await resultOrCode(database.write(list)),
          expectedCode,
          'no repetition once the result is known',
        )
        t.same(await direct.read(CHARGED, []), [{ request: 'a', state: 'settled', amount: 60 }])
        t.same(await direct.read(WALLET, []), [{ balance: 940, used: 60 }])
        t.same(await audit(direct), [])
      },
    )

const resultOrCode = <T>(promise: Promise<T>): Promise<T | string> =>
  promise.catch((error: { code: string }) => error.code)
