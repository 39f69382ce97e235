/** Sums and lists by the member who made a call, on both stores: they stay when a key moves, calls
 *  without a key count, and rows of an earlier version belong to the member of their key. */
import t, { type Test } from 'tap'
import type { Row, Sql, Value } from '../../../../engine/plugin.ts'
import { MEMBERSHIP_TABLES } from '../../../../engine/store/membership.ts'
import type { OpenDatabase } from '../../../../engine/store/open-database.ts'
import { addMember, giveToMember } from '../../../../plugins/credentials/members.ts'
import { makeSecret } from '../../../../plugins/credentials/secret.ts'
import { addKey, createAccount } from '../../../../plugins/credentials/statements.ts'
import { migrations as credentials } from '../../../../plugins/credentials/tables.ts'
import { audit } from '../../../../plugins/ledger/audit.ts'
import { keepHold, keptHoldOf } from '../../../../plugins/ledger/kept-hold.ts'
import { refundStatements } from '../../../../plugins/ledger/refunds/refund-undelivered.ts'
import { singleRowCharge } from '../../../../plugins/ledger/single-row-charge.ts'
import {
  type Hold,
  openCharge,
  releaseCharge,
  type Settlement,
  settleCharge,
} from '../../../../plugins/ledger/statements.ts'
import { migrations } from '../../../../plugins/ledger/tables.ts'
import { readStatement } from '../../../../plugins/ledger/views/account-statements.ts'
import { BY_DAY_AND_MODEL } from '../../../../plugins/ledger/views/overview.ts'
import { chargeLate } from '../../../../plugins/ledger/views/task-charges.ts'
import { topUsage } from '../../../../plugins/ledger/views/usage.ts'
import { accountValuesIn, dayOf, valuesIn } from '../../../../plugins/ledger/views/usage-days.ts'
import { CALLS, type Group, sumsBy } from '../../../../plugins/ledger/views/usage-lists.ts'
import { walletOf, walletsOf } from '../../../../plugins/ledger/wallet.ts'
import { giveCredit } from '../../../helpers/money/credit.ts'
import { HELD_CALL } from '../../../helpers/money/ledger.ts'
import { ENGINES, sql, startAnyStore } from '../../../helpers/store/store.ts'

const DAY = 86_400_000
const NOW = Date.now()
/** Before charges had a member. */
const BEFORE = migrations.filter(({ number }) => number < 28)
const ACCOUNT = 1
const PROCESS = 'p'
const LEASED = 10n ** 9n
/** Members; 0: the account itself. */
const [ANN, BEN] = [1, 2]
/** Keys; the last one belongs to the account itself. */
const [OF_ANN, OF_NONE] = [1, 2]
const SERVED = '{"upstream":"u","tags":{"project":"alpha"}}'

const write = (database: OpenDatabase, text: string, values: readonly Value[] = []) =>
  database.write([{ sql: sql(text, text), values }])

/** Charges of an earlier version: no member, and its lists add nothing to the sums. */
const chargeAsBefore = (database: OpenDatabase, request: string, key: number | null) =>
  write(
    database,
    `INSERT INTO charges (request, account, key, process, route, model, version, rule, state, held,
       amount, opened, usage, lines, closed, served)
     VALUES (?, 1, CAST(? AS BIGINT), 'gone', 'r', 'm', 1, '{}', 'settled', 100, 100, ?, '{"input":7}', '[]', ?, ?)`,
    [request, key, NOW - 2 * DAY, NOW - 2 * DAY, SERVED],
  )

type Caller = Pick<Hold, 'key' | 'member'>
const holdOf = (request: string, caller: Caller, openedAt = NOW): Hold => ({
  ...HELD_CALL,
  ...caller,
  request,
  process: PROCESS,
  account: ACCOUNT,
  heldAmount: 50n,
  openedAt,
})
const settlementOf = ({ request, key }: Hold): Settlement => ({
  request,
  amount: 20n,
  uncollected: 0n,
  isEstimated: false,
  usage: '{"input":3}',
  lines: '[]',
  closedAt: NOW,
  served: SERVED,
  wallets: walletsOf(ACCOUNT, key),
})
/** All ways in which a call gets its charge. */
const WAYS: Readonly<Record<string, (hold: Hold) => Parameters<OpenDatabase['write']>[0]>> = {
  row: hold => singleRowCharge(hold, settlementOf(hold), { input: 3 }),
  held: hold => [openCharge(hold), settleCharge(settlementOf(hold))],
  kept: hold => [...keepHold(hold, false), settleCharge(settlementOf(hold))],
  released: hold => [openCharge(hold), releaseCharge(hold.request, NOW)],
  late: hold => [
    ...keepHold(hold, false),
    releaseCharge(hold.request, NOW),
    ...chargeLate(
      keptHoldOf(hold, null),
      { meters: { input: 3 }, estimated: false, takesHold: true },
      NOW,
      SERVED,
    ),
  ],
}
const chargeAll = async (database: OpenDatabase, name: string, caller: Caller) => {
  for (const [way, statementsOf] of Object.entries(WAYS))
    await database.write(statementsOf(holdOf(`${name}-${way}`, caller)))
}

/** The closed charges of a period, each with its member: the sums must say the same. */
const callsIn = async (database: OpenDatabase, { from, to }: Period): Promise<readonly Call[]> => {
  const text = `SELECT c.*, coalesce(r.amount, 0) AS refunded, k.member AS present FROM charges c
     LEFT JOIN credits r ON r.request = c.request LEFT JOIN api_keys k ON k.id = c.key
     WHERE c.opened >= ? AND c.opened < ? AND c.state <> 'open'`
  const rows = await database.read(sql(text, text), [from, to])
  return rows.map(row => ({ ...row, by: Number(row.member ?? row.present ?? 0) }))
}
type Call = Row & { readonly by: number }
interface Period {
  readonly from: number
  readonly to: number
}
const total = (calls: readonly Call[], name = 'amount'): number =>
  calls.reduce((sum, call) => sum + Number(call[name]), 0)
const isSettled = ({ state }: Row): boolean => state === 'settled'

const listOf = (group: Group): Sql => {
  const statement = sumsBy(group)['name asc']
  if (!statement) throw new Error(group)
  return statement
}
const FIRST_PAGE = [1, '0', '0'] as const
const sumsOf = async (
  database: OpenDatabase,
  group: Group,
  period: Period,
  member: number | null = null,
) => {
  const values = accountValuesIn(ACCOUNT, period, NOW)
  const rows = await database.read(listOf(group), [...values, member, member, ...FIRST_PAGE, 99])
  return rows.map(({ name, calls, amount, refunded, input }) => ({
    name,
    calls,
    amount,
    refunded,
    input,
  }))
}
const expectedSums = (calls: readonly Call[], nameOf: (call: Call) => Value) => {
  const names = [...new Set(calls.map(nameOf))].sort()
  return names.map(name => {
    const own = calls.filter(call => nameOf(call) === name)
    const input = own.reduce((sum, { usage }) => sum + Number(JSON.parse(String(usage)).input), 0)
    const [amount, refunded] = [total(own), total(own, 'refunded')]
    return { name, calls: own.length, amount, refunded, input }
  })
}

/** Every sum and list by member says what the charges say. */
const compare = async (t: Test, database: OpenDatabase) => {
  const periods = {
    days: { from: NOW - 10 * DAY, to: NOW + DAY },
    edges: { from: NOW - 1, to: NOW + 1 },
  }
  for (const [title, period] of Object.entries(periods)) {
    const closed = await callsIn(database, period)
    const settled = closed.filter(isSettled)
    const same = (actual: unknown, expected: unknown, what: string) =>
      t.same(actual, expected, `${title}: ${what}`)
    const byMember = expectedSums(settled, ({ by }) => by)
    same(await sumsOf(database, 'member', period), byMember, 'by member')
    const byKey = expectedSums(settled, ({ key }) => Number(key ?? 0))
    same(await sumsOf(database, 'key', period), byKey, 'by key')
    const top = await database.read(topUsage('key'), [...valuesIn(period, NOW), 99])
    t.equal(top.length, byKey.length, `${title}: a key has one row`)
    for (const member of [ANN, BEN]) {
      const own = settled.filter(({ by }) => by === member)
      const of = `of member ${member}`
      same(
        await sumsOf(database, 'model', period, member),
        expectedSums(own, () => 'm'),
        `by model ${of}`,
      )
      same(
        await sumsOf(database, 'tag', period, member),
        expectedSums(own, () => 'project=alpha'),
        `by tag ${of}`,
      )
      const days = await database.read(BY_DAY_AND_MODEL, [
        ...accountValuesIn(ACCOUNT, period, NOW),
        member,
        member,
        99,
      ])
      const mine = closed.filter(({ by }) => by === member)
      const failed = mine.filter(call => !isSettled(call)).length
      t.equal(total(days as readonly Call[], 'calls'), mine.length, `${title}: calls ${of}`)
      t.equal(total(days as readonly Call[], 'failed'), failed, `${title}: failed ${of}`)
      const noFilters = Array.from({ length: 11 }, () => null)
      const listed = await database.read(CALLS['time desc'] as Sql, [
        ACCOUNT,
        period.from,
        period.to,
        ...FIRST_PAGE,
        ...noFilters,
        member,
        member,
        99,
      ])
      same(
        listed.map(({ request }) => request).sort(),
        mine.map(({ request }) => request).sort(),
        `list ${of}`,
      )
    }
  }
  t.same(
    (await audit(database)).filter(({ rule }) => rule === 'sums of a day = its charges'),
    [],
  )
}

const openTeam = async (t: Test, engine: (typeof ENGINES)[number]): Promise<OpenDatabase> => {
  const database = await (await startAnyStore(t, engine)).open()
  await database.migrate('standing', MEMBERSHIP_TABLES)
  await database.migrate('auth', credentials)
  await database.migrate('meter', BEFORE)
  await database.write(createAccount({ name: 'acme', role: 'customer' }, NOW))
  for (const name of ['ann', 'ben'])
    await database.write(addMember(ACCOUNT, { name, role: 'member' }, NOW))
  for (const member of [ANN, undefined])
    await database.write(
      addKey(
        { account: ACCOUNT, name: 'k', secret: makeSecret('key'), ...(member && { member }) },
        NOW,
      ),
    )
  await giveCredit(database, ACCOUNT, 10n ** 12n)
  await write(database, 'INSERT INTO tollgate_processes (id, beat) VALUES (?, 1)', [PROCESS])
  const wallet = walletOf.account(ACCOUNT)
  await write(database, 'INSERT INTO shares (process, wallet, amount) VALUES (?, ?, ?)', [
    PROCESS,
    wallet,
    LEASED,
  ])
  await write(database, 'UPDATE wallets SET reserved = ? WHERE id = ?', [LEASED, wallet])
  return database
}

for (const engine of ENGINES)
  t.test(`calls of members on ${engine}`, async t => {
    const database = await openTeam(t, engine)
    for (const [request, key] of Object.entries({ a: OF_ANN, b: OF_NONE, c: null }))
      await chargeAsBefore(database, request, key)
    await database.write(refundStatements('a', [walletOf.account(ACCOUNT)], NOW).slice(1))
    await database.migrate('meter', migrations)
    const membersIn = async (...requests: readonly string[]) => {
      const names = requests.map(each => `'${each}'`).join()
      const text = `SELECT member FROM charges WHERE request IN (${names}) ORDER BY request`
      return (await database.read(sql(text, text), [])).map(({ member }) => member)
    }

    await t.test('charges of an earlier version: their key says whose they are', async t => {
      t.same(await membersIn('a', 'b', 'c'), [null, null, null])
      await compare(t, database)
      const sums = await sumsOf(database, 'member', { from: NOW - 9 * DAY, to: NOW + DAY })
      t.match(sums, [
        { name: 0, calls: 2 },
        { name: ANN, calls: 1, refunded: 100 },
      ])
    })
    await t.test('charges: each way of charging stores who made the call', async t => {
      await chargeAll(database, 'key', { key: OF_ANN, member: ANN })
      await chargeAll(database, 'session', { key: undefined, member: BEN })
      await chargeAll(database, 'own', { key: OF_NONE, member: undefined })
      const requests = Object.keys(WAYS).map(way => `session-${way}`)
      t.same(new Set(await membersIn(...requests, 'session-late_late')), new Set([BEN]))
      t.same(await membersIn('own-held', 'own-kept', 'own-row'), [0, 0, 0])
      await compare(t, database)
    })
    await t.test('a key that moves: calls until then stay those of their member', async t => {
      await database.write(giveToMember('key', OF_ANN, BEN))
      await database.write(giveToMember('key', OF_NONE, BEN))
      await chargeAll(database, 'moved', { key: OF_ANN, member: BEN })
      t.same(await membersIn('key-row', 'moved-row'), [ANN, BEN])
      await compare(t, database)
    })
    await t.test('refunds: reduce the sums of the member who made the call', async t => {
      for (const request of ['key-row', 'session-kept', 'moved-late_late'])
        await database.write(refundStatements(request, [walletOf.account(ACCOUNT)], NOW))
      await compare(t, database)
    })
    await t.test('gateways of an earlier version beside this one: their sums count', async t => {
      await chargeAsBefore(database, 'beside', OF_ANN)
      t.same(await membersIn('beside'), [null])
      await compare(t, database)
    })
    await t.test('statements: a key that has moved has a line for each member', async t => {
      const days = { first: dayOf(NOW) - 9, last: dayOf(NOW) + 1 }
      const { lines, charged } = await readStatement(database, ACCOUNT, days)
      const names = lines.map(({ day, key, member, model }) => `${day} ${key} ${member} ${model}`)
      t.same(names, [...new Set(names)])
      t.same(
        new Set(lines.filter(({ key }) => key === OF_ANN).map(({ member }) => member)),
        new Set([ANN, BEN]),
      )
      t.equal(
        lines.reduce((sum, { amount }) => sum + amount, 0n),
        charged,
      )
      t.ok(lines.every(({ key }) => [0, OF_ANN, OF_NONE].includes(key)))
    })
  })
