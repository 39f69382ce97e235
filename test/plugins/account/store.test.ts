/** The statements of account endpoints and commands on both engines: the same rows, the same
 *  refusals. */
import t, { type Test } from 'tap'
import { commands } from '../../../plugins/account/command.ts'
import { fundsOfSecret } from '../../../plugins/account/funds.ts'
import { type By, GROUPINGS, usagePage } from '../../../plugins/account/usage-pages.ts'
import auth from '../../../plugins/auth/index.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import {
  addKey,
  addToken,
  changeCredential,
  createAccount,
  LIST_CREDENTIALS_OF,
  replaceSecret,
  setQuota,
} from '../../../plugins/credentials/statements.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { migrations } from '../../../plugins/ledger/tables.ts'
import { RECEIPT } from '../../../plugins/ledger/views/usage.ts'
import { changeQuota } from '../../../plugins/ledger/views/wallets.ts'
import { FUNDS_OF } from '../../../plugins/operator/keys.ts'
import { runCommand } from '../../helpers/gateway/command-line.ts'
import { pay } from '../../helpers/money/account-gateway.ts'
import { hostOver } from '../../helpers/store/accounts.ts'
import { ledgerOn, makeLedger } from '../../helpers/store/membership.ts'
import { ENGINES, type Engine, startAnyStore } from '../../helpers/store/store.ts'

const DAY = 86_400_000
const NOVEMBER = Date.UTC(2025, 10, 1)

const check = async (t: Test, engine: Engine): Promise<void> => {
  const database = await (await startAnyStore(t, engine)).open()
  await database.migrate('auth', auth.migrations)
  await database.migrate('meter', migrations.slice(0, 1))
  const early = { account: 99, kind: 'credit', amount: 5n, note: 'early', at: 1 } as const
  await database.write([openWallet(198, 0n), addCredit(early)])
  await makeLedger(database)
  await database.write([addCredit({ ...early, kind: 'debit', amount: -2n, note: 'late' })])
  t.match(
    await database.read({ name: 'early', text: 'SELECT id, kind, amount FROM credits' }, []),
    [{ id: 1, kind: 'credit', amount: 5 }, { kind: 'debit' }],
    'credits of the schema without debits survive the migration',
  )
  const ledger = ledgerOn(database)
  t.teardown(() => ledger.close())
  const accounts = async (...args: string[]) => {
    const output = await runCommand(t, 'accounts', commands, hostOver(database), [
      ...args,
      '--json',
    ])
    return { ...output, error: output.err && JSON.parse(output.err).error.code }
  }
  const now = Date.now()
  await database.write(createAccount({ name: 'ann', role: 'customer' }, now))
  const secret = makeSecret('key')
  await database.write(
    addKey({ account: 1, name: 'k', secret, quota: { total: 50_000, period: null } }, now),
  )
  await database.write(addToken({ account: 1, name: 't', secret: makeSecret('system-token') }, now))

  t.match((await accounts('credit', 'ann', '10')).json(), { balance: '10' })
  t.equal((await accounts('credit', 'ann', '999999999')).error, 'CREDIT_TOO_LARGE')
  t.match((await accounts('debit', 'ann', '0.5')).json(), { debit: 4, balance: '9.5', used: '0' })
  t.equal((await accounts('debit', 'ann', '9.500000001')).error, 'DEBIT_TOO_LARGE')
  t.match((await accounts('credit', 'ann', '0.5')).json(), { credit: 5, balance: '10' })
  const lostResult = {
    ...database,
    write: () => Promise.reject(Object.assign(new Error('lost'), { code: 'STORE_UNKNOWN' })),
  }
  for (const change of ['credit', 'debit']) {
    const { err } = await runCommand(t, 'accounts', commands, hostOver(lostResult), [
      change,
      'ann',
      '1',
    ])
    t.match(err, /unknown whether this change .*"ann" was stored/, change)
  }
  const kinds = { name: 'kinds', text: 'SELECT kind, amount, note FROM credits WHERE id = 4' }
  t.match(await database.read(kinds, []), [{ kind: 'debit', amount: -500_000_000, note: '' }])
  t.match((await accounts('overdraft', 'ann', '1.5')).json(), { overdraft: '1.5' })
  const call = { account: 1, key: 1, quota: 100_000_000n }
  for (const [index, model] of ['b', 'a', 'a'].entries())
    await pay(database, ledger, {
      ...call,
      request: `r${index}`,
      model,
      tags: { project: 'p' },
      at: NOVEMBER + index * DAY,
      cost: BigInt(index + 1) * 1_000_000n,
    })
  t.match((await accounts('refund', 'r2')).json(), { refunded: '0.003', used: '0.003' })
  t.equal((await accounts('refund', 'r2')).error, 'ALREADY_REFUNDED')

  const EXPECTED: Readonly<Record<Exclude<By, 'failed'>, readonly object[]>> = {
    call: [{ request_id: 'r2' }, { request_id: 'r1' }, { request_id: 'r0' }],
    day: [{ day: '2025-11-01', calls: 1 }, { day: '2025-11-02' }, { day: '2025-11-03' }],
    model: [
      { model: 'a', calls: 2 },
      { model: 'b', calls: 1 },
    ],
    key: [{ key: 1, name: 'k', calls: 3 }],
    member: [{ member: null, name: null, role: null, calls: 3 }],
    tag: [{ tag: 'project=p', calls: 3 }],
  }
  for (const [by, rows] of Object.entries(EXPECTED)) {
    const query = { account: 1, by: by as By, from: NOVEMBER, to: NOVEMBER + 3 * DAY }
    const rowsOfPages = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await usagePage(database, { ...query, limit: 1, ...(cursor && { cursor }) })
      rowsOfPages.push(...page.rows)
      cursor = page.next
    }
    const plain = JSON.parse(JSON.stringify(rowsOfPages)) as { cost: number; refunded: number }[]
    t.match(plain, rows, by)
    for (const sort of GROUPINGS[by as By].sorts) {
      const sorted = async (order: 'asc' | 'desc') => {
        const first = await usagePage(database, { ...query, limit: 1, sort: { by: sort, order } })
        const cursor = first.next
        const next = { ...query, limit: 9, sort: { by: sort, order } }
        const rest = cursor ? (await usagePage(database, { ...next, cursor })).rows : []
        return [...first.rows, ...rest].map(row => JSON.stringify(row))
      }
      const [up, down] = [await sorted('asc'), await sorted('desc')]
      t.equal(new Set(up).size, rows.length, `${by} by ${sort}: each row once`)
      t.same(up, down.toReversed(), `${by} by ${sort}`)
    }
    const sum = (of: 'cost' | 'refunded') => plain.reduce((total, row) => total + row[of] * 1e9, 0)
    t.same([sum('cost'), sum('refunded')], [6_000_000, 3_000_000], `${by}: exact`)
  }
  t.match(await database.read(RECEIPT, ['r1', 1]), [{ request: 'r1', refunded: null }])
  t.same(await database.read(RECEIPT, ['r1', 2]), [])

  const all = {
    name: 'n',
    expires: now + DAY,
    models: ['m'],
    limits: { concurrency: 1 },
  }
  await database.write([
    ...changeCredential('key', 1, 1, all),
    ...setQuota(1, { total: 9_000, period: null }),
    ...changeQuota(1, 100_000_000n, 18_000_000n),
  ])
  t.match(await fundsOfSecret(database, secret.text), {
    hasQuota: true,
    remaining: 12_000_000n,
    used: 6_000_000n,
    row: {
      name: 'n',
      expires: now + DAY,
      models: '["m"]',
      limits: '{"concurrency":1}',
      quota: 9_000,
    },
  })
  const [latest, { digest }] = [makeSecret('key'), secret]
  await database.write(replaceSecret('key', 1, { digest, until: now + DAY }, latest, now))
  t.match(await fundsOfSecret(database, secret.text), { used: 6_000_000n }, 'an earlier secret')
  const last = { digest: latest.digest, until: undefined }
  await database.write(replaceSecret('key', 1, last, makeSecret('key'), now - 1))
  for (const { text } of [secret, latest])
    t.equal(await fundsOfSecret(database, text), undefined, 'an earlier secret that has ended')
  const less = [...setQuota(1, { total: 1, period: null }), ...changeQuota(1, 18_000_000n, 2_000n)]
  await t.rejects(database.write(less), { code: 'QUOTA_IN_USE' })
  const none = { expires: null, models: null, limits: null }
  await database.write(changeCredential('key', 1, 1, none))
  t.match(await database.read(FUNDS_OF, [1, 0, 10]), [
    { name: 'n', expires: null, models: null, limits: null, quota: 9_000, own_balance: 12_000_000 },
  ])
  await database.write(changeCredential('system-token', 1, 1, { name: 'T' }))
  t.match(await database.read(LIST_CREDENTIALS_OF['system-token'], [1, 0, 10]), [{ name: 'T' }])
  for (const wrong of [changeCredential('key', 1, 2, all), changeCredential('key', 7, 1, all)])
    await t.rejects(database.write(wrong), { code: 'KEY_UNKNOWN' })
  t.equal(await fundsOfSecret(database, "' OR 1=1 --"), undefined)
}

for (const engine of ENGINES)
  t.test(`account statements on ${engine}: change money, usage and credentials`, t =>
    check(t, engine),
  )
