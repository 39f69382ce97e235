/** The list of accounts in each order, on both stores: pages that follow each other by a cursor
 *  have each account once, also where many balances are equal or accounts have no wallet. */
import t, { type Test } from 'tap'
import type { HostBase } from '../../../engine/plugin.ts'
import { MEMBERSHIP_TABLES } from '../../../engine/store/membership.ts'
import { printMoney } from '../../../plugins/billing/money.ts'
import { operationEndpoints } from '../../../plugins/console/admin/operations.ts'
import { migrations as credentialTables } from '../../../plugins/credentials/tables.ts'
import { migrations as ledgerTables } from '../../../plugins/ledger/tables.ts'
import { createChance } from '../../helpers/run-settings.ts'
import { hostOver } from '../../helpers/store/accounts.ts'
import { ENGINES, type Engine, sql, startAnyStore } from '../../helpers/store/store.ts'

const COUNT = 230
type Row = { readonly id: number; readonly balance: string; readonly used: string }

const chance = createChance()
/** A third without wallets, and many equal amounts; some are negative, some too large for a
 *  double. */
const amounts = [0n, 0n, -5n * 10n ** 9n, 3n, 10n ** 18n, 10n ** 18n - 1n, 10n ** 18n - 2n]
const accounts = Array.from({ length: COUNT }, (_, index) => ({
  id: index + 1,
  name: `${index % 2 === 0 ? 'even' : 'odd'} ${index + 1}`,
  suspended: index % 10 === 0,
  wallet:
    chance() < 0.3
      ? undefined
      : {
          balance: amounts[Math.floor(chance() * amounts.length)] ?? 0n,
          used: BigInt(Math.floor(chance() * 40)) * 10n ** 8n,
        },
}))

const openList = async (t: Test, engine: Engine) => {
  const store = await startAnyStore(t, engine)
  const database = await store.open()
  await database.migrate('engine', MEMBERSHIP_TABLES)
  await database.migrate('auth', credentialTables)
  await database.migrate('ledger', ledgerTables)
  const account = sql(
    'account',
    'INSERT INTO accounts (id, name, role, created, suspended) VALUES (?, ?, ?, 1, ?)',
  )
  const wallet = sql(
    'wallet',
    'INSERT INTO wallets (id, balance, used, overdraft) VALUES (?, ?, ?, ?)',
  )
  await database.write(
    accounts.flatMap(({ id, name, suspended, wallet: amounts }) => [
      { sql: account, values: [id, name, 'customer', suspended ? 1 : null] },
      ...(amounts
        ? [{ sql: wallet, values: [id * 2, amounts.balance, amounts.used, 10n ** 10n] }]
        : []),
    ]),
  )
  const list = operationEndpoints['GET accounts']
  const host = { ...hostOver(database), config: { isTrial: false } } as unknown as HostBase
  return async (query: Readonly<Record<string, string>>) => {
    const call = { query: new URLSearchParams(query), body: {}, actor: 'test' }
    const result = await list?.run(call, host)
    return { rows: result?.data as unknown as readonly Row[], next: result?.next ?? null }
  }
}

const expectedOrder = (sort: string, order: string): readonly number[] => {
  const value = ({ id, wallet }: (typeof accounts)[number]): bigint =>
    sort === 'number' ? BigInt(id) : (wallet?.[sort as 'balance' | 'used'] ?? 0n)
  const sign = order === 'asc' ? 1 : -1
  return accounts
    .toSorted((one, other) => {
      const [a, b] = [value(one), value(other)]
      return sign * (a < b ? -1 : a > b ? 1 : one.id - other.id)
    })
    .map(({ id }) => id)
}

for (const engine of ENGINES)
  t.test(`accounts on ${engine}: in each order, by pages that have each account once`, async t => {
    const read = await openList(t, engine)
    for (const sort of ['number', 'balance', 'used'])
      for (const order of ['asc', 'desc']) {
        const ids: number[] = []
        let cursor: string | null = ''
        let pages = 0
        while (cursor !== null) {
          const { rows, next } = await read({ sort, order, cursor })
          ids.push(...rows.map(({ id }) => id))
          cursor = next
          pages++
        }
        t.same(ids, expectedOrder(sort, order), `${sort} ${order}`)
        t.equal(pages, Math.ceil(COUNT / 100))
      }
    const { rows } = await read({ sort: 'balance', order: 'desc', search: 'ODD', state: 'active' })
    const filtered = expectedOrder('balance', 'desc')
      .map(id => accounts[id - 1])
      .filter(each => each?.name.startsWith('odd') && !each.suspended)
    t.same(
      rows.map(({ id, balance }) => [id, balance]),
      filtered.slice(0, 100).map(each => [each?.id, printMoney(each?.wallet?.balance ?? 0n)]),
      'filters hold in each order',
    )
    t.same((await read({})).rows.map(({ id }) => id)[0], 1, 'by number unless told otherwise')
    for (const [name, value] of [
      ['sort', 'name'],
      ['order', 'up'],
      ['cursor', '7'],
      ['cursor', '9999999999999999999:1'],
      ['cursor', "1:1' OR 1=1"],
    ] as const)
      await t.rejects(read({ [name]: value }), { code: 'ADMIN_QUERY', param: name })
  })
