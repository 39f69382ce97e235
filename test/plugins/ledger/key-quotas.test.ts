/** Quotas for each day or month: renewed once, from what the key has used. */
import t from 'tap'
import { startOf, storedQuotaOf } from '../../../plugins/credentials/quota.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey, keyRows, revoke } from '../../../plugins/credentials/statements.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { changeKeyQuota, renewQuotas } from '../../../plugins/ledger/views/key-quotas.ts'
import { withFunds } from '../../../plugins/ledger/views/wallets.ts'
import { giveCredit } from '../../helpers/money/credit.ts'
import { call, payerOf } from '../../helpers/money/ledger.ts'
import { openAccountsIn } from '../../helpers/store/accounts.ts'
import { ledgerOn, makeLedger } from '../../helpers/store/membership.ts'
import { sql, startBoth } from '../../helpers/store/store.ts'

const JANUARY = Date.UTC(2026, 0, 31, 22, 59)
const FEBRUARY = Date.UTC(2026, 1, 1, 0, 0, 1)
const UNIT = 2_000n

const both = await Promise.all(
  (await startBoth(t, [])).map(async ({ engine, database }) => {
    const accounts = await openAccountsIn(database)
    await makeLedger(database)
    return { engine, database, accounts }
  }),
)

t.test('periods: begin at midnight and on the first of the month, by UTC', async t => {
  t.equal(startOf('day', JANUARY), Date.UTC(2026, 0, 31))
  t.equal(startOf('month', JANUARY), Date.UTC(2026, 0, 1))
  t.equal(startOf('month', FEBRUARY), Date.UTC(2026, 1, 1))
  t.same(storedQuotaOf({ quota: 5 }, 9, JANUARY), { total: 5, period: null })
  t.same(storedQuotaOf({ quota: null, quota_period: 'day' }, 9, JANUARY), {
    total: null,
    period: null,
  })
})

for (const { engine, database, accounts } of both) {
  const ledger = ledgerOn(database)
  t.teardown(() => ledger.close())
  const lines: unknown[] = []
  const renew = (now: number) =>
    renewQuotas({ database, log: { info: (fields: unknown) => lines.push(fields) } }, now)
  const rowOf = async (key: number) => {
    const [row] = await database.read(sql('test: key', withFunds(keyRows('k.id = ?'))), [key])
    if (!row) throw new Error(`no key ${key}`)
    return row
  }
  const leftOf = async (key: number) => {
    const { quota, own_balance: balance } = await rowOf(key)
    return Number(balance ?? BigInt(Number(quota)) * UNIT) / Number(UNIT)
  }
  /** As a call of the key: of so many quota units. */
  const pay = async (account: number, key: number, units: bigint) => {
    const payer = payerOf(account, key, BigInt(Number((await rowOf(key)).quota)) * UNIT)
    const paid = await call({ database }, ledger, crypto.randomUUID(), payer, units * UNIT)
    await paid.settle?.(units * UNIT)
    return paid.shortfall
  }
  const makeKey = async (account: number, quota: number, period: 'day' | 'month' | null) => {
    const options = { account, name: 'k', secret: makeSecret('key') }
    const change = { quota, quota_period: period }
    const list = addKey({ ...options, quota: storedQuotaOf(change, 0, JANUARY) }, JANUARY)
    return Number((await database.write(list)).at(-1)?.[0]?.id)
  }

  t.test(`key quotas on ${engine}: a period begins with the whole quota, once`, async t => {
    const ann = await accounts.account('ann')
    await giveCredit(database, ann, 1_000_000n)
    const [monthly, daily, forLife, unused] = [
      await makeKey(ann, 100, 'month'),
      await makeKey(ann, 50, 'day'),
      await makeKey(ann, 70, null),
      await makeKey(ann, 30, 'month'),
    ]
    t.equal(await pay(ann, monthly, 90n), undefined)
    t.equal(await pay(ann, monthly, 20n), 'key', 'more than is left of the month')
    t.equal(await pay(ann, daily, 50n), undefined)
    t.equal(await pay(ann, forLife, 60n), undefined)
    await renew(JANUARY + 1_000)
    t.same([await leftOf(monthly), await leftOf(daily)], [10, 0], 'the period has not ended')
    await renew(FEBRUARY)
    t.same(
      [await leftOf(monthly), await leftOf(daily), await leftOf(forLife), await leftOf(unused)],
      [100, 50, 10, 30],
      'what was left is not added',
    )
    t.same(lines, [
      { period: 'day', count: 1 },
      { period: 'month', count: 2 },
    ])
    t.equal(await pay(ann, monthly, 40n), undefined)
    await renew(FEBRUARY + 5_000)
    t.equal(await leftOf(monthly), 60, 'a period is renewed once')
    await renew(FEBRUARY + 40 * 86_400_000)
    t.same([await leftOf(monthly), await leftOf(daily)], [100, 50], 'after a gap, too')
    t.same(await audit(database), [])
  })

  t.test(`key quotas on ${engine}: a change keeps the use of the period`, async t => {
    const bob = await accounts.account('bob')
    await giveCredit(database, bob, 1_000_000n)
    const key = await makeKey(bob, 100, 'month')
    const update = async (change: Parameters<typeof changeKeyQuota>[1]) => {
      await database.write(changeKeyQuota(await rowOf(key), change, JANUARY + 1_000))
      return leftOf(key)
    }
    await pay(bob, key, 80n)
    t.equal(await update({ quota: 150, quota_period: 'month' }), 70)
    t.equal(await update({ quota: 90 }), 10, 'the period stays')
    await t.rejects(update({ quota: 79 }), { code: 'QUOTA_IN_USE' })
    t.equal(await update({}), 10, 'nothing changes')
    t.equal(await update({ quota: 40, quota_period: 'day' }), 40, 'another period begins')
    t.equal(await update({ quota: 500, quota_period: null }), 420, 'for life: all use counts')
    t.equal(await update({ quota: 10, quota_period: 'day' }), 10)
    await database.write(revoke('key', key, JANUARY))
    await renew(FEBRUARY)
    t.match(await rowOf(key), { quota: 90 }, 'a revoked key is not renewed')
    t.same(await audit(database), [])
  })

  t.test(`key quotas on ${engine}: a changed key waits for the next round`, async t => {
    const gus = await accounts.account('gus')
    await giveCredit(database, gus, 1_000_000n)
    const key = await makeKey(gus, 100, 'day')
    await pay(gus, key, 60n)
    lines.length = 0
    const log = { info: (fields: unknown) => lines.push(fields) }
    await renewQuotas({ database, log }, FEBRUARY, AbortSignal.abort())
    t.same([lines, await leftOf(key)], [[], 40], 'not while the process stops')
    const renewWith = (code: string) => {
      const write = () => Promise.reject(Object.assign(new Error(code), { code }))
      return renewQuotas({ database: { ...database, write }, log }, FEBRUARY)
    }
    await renewWith('QUOTA_IN_USE')
    await t.rejects(renewWith('STORE_UNAVAILABLE'), { code: 'STORE_UNAVAILABLE' })
    t.same([lines, await leftOf(key)], [[], 40])
    await renew(FEBRUARY)
    t.equal(await leftOf(key), 100)
  })

  t.test(`key quotas on ${engine}: running calls keep their holds`, async t => {
    const eve = await accounts.account('eve')
    await giveCredit(database, eve, 1_000_000n)
    const key = await makeKey(eve, 100, 'day')
    const payer = payerOf(eve, key, 100n * UNIT)
    const open = await call({ database }, ledger, crypto.randomUUID(), payer, 60n * UNIT)
    await renew(FEBRUARY)
    t.equal((await pay(eve, key, 50n)) ?? 'served', 'key', 'the hold counts in the new period')
    await open.settle?.(60n * UNIT)
    t.equal(await pay(eve, key, 40n), undefined)
    t.equal(await leftOf(key), 0)
    t.same(await audit(database), [])
  })
}
