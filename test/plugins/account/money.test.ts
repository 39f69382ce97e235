/** `tollgate accounts credit | debit | refund | overdraft | suspend | resume | show` and `tollgate
 *  usage`: their output, what they change in the ledger, and refusals that change nothing. */
import t, { type Test } from 'tap'
import { commands } from '../../../plugins/account/command.ts'
import { addMember } from '../../../plugins/credentials/members.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { subcommandsOf } from '../../../plugins/operator/command-line.ts'
import { moneyOperations } from '../../../plugins/operator/operations/money.ts'
import { runCommand } from '../../helpers/gateway/command-line.ts'
import { call, openBooks, payerOf } from '../../helpers/money/ledger.ts'
import { openAccounts } from '../../helpers/store/accounts.ts'
import { ledgerOn, makeLedger } from '../../helpers/store/membership.ts'

const { host, database, ...accountHelpers } = await openAccounts(t)
await makeLedger(database)
const runAccounts = (t: Test, ...args: string[]) => runCommand(t, 'accounts', commands, host, args)
const runUsage = (t: Test, ...args: string[]) => runCommand(t, 'usage', commands, host, args)
const readRows = (text: string) => database.read({ name: `test: ${text}`, text }, [])
/** Without what processes have leased: they return it by themselves. */
const readLedgerTables = async () => {
  const tables = ['wallets', 'credits', 'charges'].map(table => readRows(`SELECT * FROM ${table}`))
  const rows = (await Promise.all(tables)).flat()
  return rows.map(({ reserved, ...row }) => row)
}

const annId = await accountHelpers.account('ann')

t.test('accounts credit: the first credit opens the wallet, the next adds to it', async t => {
  t.match(await runAccounts(t, 'credit', 'ann', '12.50', '--note', 'invoice-17'), {
    exit: 0,
    out: /^credit +id +name +balance \(CNY\) +used \(CNY\) +overdraft \(CNY\)\n1 +1 +ann +12\.5 +0 +0\n$/,
  })
  const secondCredit = await runAccounts(t, 'credit', String(annId), '0.000000001', '--json')
  t.match(secondCredit.json(), {
    credit: 2,
    id: annId,
    name: 'ann',
    balance: '12.500000001',
    used: '0',
  })
  t.match(await readRows('SELECT account, kind, amount, note FROM credits ORDER BY id'), [
    { account: annId, kind: 'credit', amount: 12_500_000_000, note: 'invoice-17' },
    { account: annId, kind: 'credit', amount: 1, note: '' },
  ])
})

t.test('accounts credit: adds up two hundred concurrent credits', async t => {
  const bobId = await accountHelpers.account('bob')
  const creditSubcommand = subcommandsOf(moneyOperations).credit
  const args = { values: { json: true }, positionals: ['bob', '0.01'] }
  const results = await Promise.all(
    Array.from({ length: 200 }, () => creditSubcommand?.run(args, host)),
  )
  t.equal(results.length, 200)
  t.match(results[0], { json: { name: 'bob' } })
  t.match(await readRows(`SELECT balance FROM wallets WHERE id = ${bobId * 2}`), [{ balance: 2e9 }])
})

t.test('accounts show: prints the state, the keys and the money of one account', async t => {
  await accountHelpers.account('zoe')
  await runAccounts(t, 'credit', 'zoe', '2.5')
  await runAccounts(t, 'overdraft', 'zoe', '1')
  await runAccounts(t, 'suspend', 'zoe')
  const account = { name: 'zoe', role: 'customer', state: 'suspended', keys: 0 }
  t.match((await runAccounts(t, 'show', 'zoe', '--json')).json(), {
    ...account,
    balance: '2.5',
    used: '0',
    overdraft: '1',
  })
  const { exit, out } = await runAccounts(t, 'show', 'zoe')
  t.equal(exit, 0)
  t.match(
    out,
    /^zoe \(\d+\), customer, suspended, since .*\nbalance +2\.5 CNY, of which running calls hold 0 CNY; overdraft 1 CNY\n/,
  )
  t.match(await runAccounts(t, 'show', 'nobody'), { exit: 3, err: /Unknown account "nobody"/ })
  t.match(await runAccounts(t, 'show'), {
    exit: 2,
    err: /^Usage: tollgate accounts show NAME \[--calls COUNT\]$/m,
  })
})

t.test('money commands: an invalid amount or an unknown account changes nothing', async t => {
  const before = await readLedgerTables()
  const INVALID_COMMANDS: readonly (readonly [exit: number, message: RegExp, ...args: string[]])[] =
    [
      [2, /Invalid 'amount': "-5" is negative/, 'credit', 'ann', '--', '-5'],
      [2, /not a decimal number/, 'credit', 'ann', 'ten'],
      [2, /not a decimal number/, 'credit', 'ann', ''],
      [2, /not a decimal number/, 'credit', 'ann', '1,000.00'],
      [2, /not a decimal number/, 'credit', 'ann', '0x10'],
      [2, /not a decimal number/, 'credit', 'ann', '٥'],
      [2, /not a decimal number/, 'credit', 'ann', 'Infinity'],
      [2, /exponent/, 'credit', 'ann', '1e3'],
      [2, /decimal places/, 'credit', 'ann', '0.0000000001'],
      [2, /is more than 1000000000/, 'credit', 'ann', '1000000000.01'],
      [2, /Invalid AMOUNT/, 'credit', 'ann', '9'.repeat(400)],
      [3, /The balance of "ann" would exceed 1 billion/, 'credit', 'ann', '1000000000'],
      [2, /must be above 0/, 'credit', 'ann', '0.00'],
      [2, /Usage: tollgate accounts credit NAME AMOUNT/, 'credit', 'ann'],
      [2, /Usage: tollgate accounts credit NAME AMOUNT/, 'credit', 'ann', '1', '2'],
      [2, /--note/, 'credit', 'ann', '1', '--note', 'two\nlines'],
      [3, /Unknown account "nobody"/, 'credit', 'nobody', '1'],
      [3, /Unknown account "' OR 1=1 --"/, 'credit', "' OR 1=1 --", '1'],
      [2, /is negative/, 'debit', 'ann', '--', '-5'],
      [2, /not a decimal number/, 'debit', 'ann', 'ten'],
      [2, /not a decimal number/, 'debit', 'ann', '1; DROP TABLE credits'],
      [2, /exponent/, 'debit', 'ann', '1e3'],
      [2, /decimal places/, 'debit', 'ann', '0.0000000001'],
      [2, /is more than 1000000000/, 'debit', 'ann', '1000000000.01'],
      [3, /Insufficient funds: "\w+" has less than that/, 'debit', 'ann', '12.500000002'],
      [2, /must be above 0/, 'debit', 'ann', '0'],
      [2, /Usage: tollgate accounts debit NAME AMOUNT/, 'debit', 'ann'],
      [2, /Usage: tollgate accounts debit NAME AMOUNT/, 'debit', 'ann', '1', '2'],
      [2, /--note/, 'debit', 'ann', '1', '--note', 'two\nlines'],
      [3, /Unknown account "nobody"/, 'debit', 'nobody', '1'],
      [3, /Unknown account "' OR 1=1 --"/, 'debit', "' OR 1=1 --", '1'],
      [3, /No call has the request id "r"/, 'refund', 'r'],
      [2, /accounts refund REQUEST/, 'refund'],
      [2, /is negative/, 'overdraft', 'ann', '--', '-1'],
      [3, /Unknown account/, 'overdraft', 'nobody', '1'],
      [3, /Unknown account/, 'suspend', 'nobody'],
      [2, /accounts suspend NAME/, 'suspend'],
      [2, /accounts resume NAME/, 'resume', 'ann', 'bob'],
    ]
  for (const [exit, message, ...args] of INVALID_COMMANDS) {
    const output = await runAccounts(t, ...args)
    t.match(
      { exit: output.exit, err: output.err, out: output.out },
      { exit, err: message, out: '' },
      args.join(' '),
    )
  }
  t.same(await readLedgerTables(), before)
})

t.test('accounts refund: returns the cost of a call once', async t => {
  const cidId = await accountHelpers.account('cid')
  await runAccounts(t, 'credit', 'cid', '1')
  const books = { ...(await openBooks(t)), database }
  const ledgerOfProcess = ledgerOn(database)
  t.teardown(() => ledgerOfProcess.close())
  const paidCall = await call(books, ledgerOfProcess, 'req_paid', payerOf(cidId), 300_000_000n)
  const openCall = await call(books, ledgerOfProcess, 'req_open', payerOf(cidId), 100_000_000n)
  await paidCall.settle?.(250_000_000n)
  const freeCall = await call(books, ledgerOfProcess, 'req_free', payerOf(cidId), 1n)
  await freeCall.settle?.(0n)
  const releasedCall = await call(books, ledgerOfProcess, 'req_released', payerOf(cidId), 1n)
  await releasedCall.release?.()
  t.match((await runAccounts(t, 'refund', 'req_paid', '--note', 'sorry', '--json')).json(), {
    refunded: '0.25',
    name: 'cid',
    balance: '1',
    used: '0',
  })
  const before = await readLedgerTables()
  for (const [request, message] of [
    ['req_paid', /refunded already/],
    ['req_open', /its state is open/],
    ['req_free', /Nothing was charged/],
    ['req_released', /its state is released/],
  ] as const)
    t.match(await runAccounts(t, 'refund', request), { exit: 3, err: message }, request)
  t.same(await readLedgerTables(), before)
  await openCall.settle?.(100_000_000n)
  t.test('usage: shows the cost and the refund', async t => {
    const { out } = await runUsage(t, 'cid')
    t.match(
      out,
      /^day .*p99_ms +calls +cost \(CNY\) +refunded \(CNY\)\n\d{4}-\d\d-\d\d +0 +0 +0( +-){4} +3 +0\.35 +0\.25\n$/,
    )
    const json = await runUsage(t, 'cid', '--by', 'call', '--json')
    const { account, rows } = JSON.parse(json.out)
    const calls = Object.fromEntries(
      rows.map((row: { request_id: string }) => [row.request_id, row]),
    )
    t.match(calls, {
      req_paid: { state: 'settled', cost: 0.25, refunded: 0.25 },
      req_open: { state: 'settled', cost: 0.1, refunded: 0 },
      req_free: { state: 'settled', cost: 0 },
      req_released: { state: 'released', cost: 0 },
    })
    t.equal(account, 'cid')
    t.match(await runUsage(t, 'cid', '--to', '2020-01-01'), { exit: 0, out: 'none\n' })
    t.match(await runUsage(t, 'cid', '--by', 'hour'), { exit: 2, err: /one of call, day/ })
    t.match(await runUsage(t, 'cid', '--from', 'monday'), { exit: 2, err: /must be a date/ })
    t.match(await runUsage(t, 'nobody'), { exit: 3, err: /Unknown account/ })
    t.match(await runUsage(t), { exit: 2, err: /tollgate usage NAME/ })
  })
})

t.test('usage --member: calls of one member of the account', async t => {
  const team = await accountHelpers.account('team')
  await runAccounts(t, 'credit', 'team', '1')
  const added = await database.write(addMember(team, { name: 'mia', role: 'member' }, 1))
  const member = Number(added.at(-1)?.[0]?.id)
  const ledgerOfProcess = ledgerOn(database)
  t.teardown(() => ledgerOfProcess.close())
  for (const [request, payer] of [
    ['req_of_mia', { ...payerOf(team), member }],
    ['req_of_team', payerOf(team)],
  ] as const)
    await (await call({ database }, ledgerOfProcess, request, payer, 9n)).settle?.(5n)
  const rowsOf = async (...args: string[]) =>
    JSON.parse((await runUsage(t, 'team', ...args, '--json')).out).rows
  t.match(await rowsOf('--by', 'call', '--member', 'mia'), [{ request_id: 'req_of_mia', member }])
  t.match(await rowsOf('--member', 'mia'), [{ calls: 1, cost: '0.000000005' }])
  t.match(await rowsOf('--by', 'member'), [
    { member: null, calls: 1 },
    { name: 'mia', calls: 1 },
  ])
  t.match(await runUsage(t, 'team', '--member', 'max'), { exit: 3, err: /no member "max"/ })
})

t.test('accounts overdraft: lets the balance go below 0 by at most the overdraft', async t => {
  const danId = await accountHelpers.account('dan')
  t.match((await runAccounts(t, 'overdraft', 'dan', '5', '--json')).json(), {
    name: 'dan',
    balance: '0',
    overdraft: '5',
  })
  const ledgerOfProcess = ledgerOn(database)
  t.equal(await ledgerOfProcess.take(payerOf(danId), 5_000_000_001n), 'account')
  t.equal(await ledgerOfProcess.take(payerOf(danId), 5_000_000_000n), undefined)
  t.match(await runAccounts(t, 'overdraft', 'dan', '4.99'), {
    exit: 3,
    err: /below that overdraft/,
  })
  ledgerOfProcess.give(payerOf(danId), 5_000_000_000n, await ledgerOfProcess.process())
  await ledgerOfProcess.close()
  t.match(await runAccounts(t, 'overdraft', 'dan', '0'), { exit: 0 })
})

t.test('accounts debit: takes no money that open calls hold', async t => {
  const eveId = await accountHelpers.account('eve')
  t.match(await runAccounts(t, 'debit', 'eve', '1'), {
    exit: 3,
    err: /Insufficient funds: "\w+" has less than that/,
  })
  t.same(
    await readRows(`SELECT id FROM wallets WHERE id = ${eveId * 2}`),
    [],
    'no wallet was created',
  )
  await runAccounts(t, 'credit', 'eve', '10')
  const ledgerOfProcess = ledgerOn(database)
  const holdAmount = 4_000_000_000n
  t.equal(await ledgerOfProcess.take(payerOf(eveId), holdAmount), undefined)
  t.match(await runAccounts(t, 'debit', 'eve', '6.000000001'), {
    exit: 3,
    err: /Insufficient funds: "\w+" has less than that/,
  })
  t.match(
    (await runAccounts(t, 'debit', 'eve', '6', '--note', 'credited twice', '--json')).json(),
    {
      name: 'eve',
      balance: '4',
      used: '0',
    },
  )
  t.match(
    await readRows(
      `SELECT kind, amount, note FROM credits WHERE account = ${eveId} AND amount < 0`,
    ),
    [{ kind: 'debit', amount: -6_000_000_000, note: 'credited twice' }],
  )
  ledgerOfProcess.give(payerOf(eveId), holdAmount, await ledgerOfProcess.process())
  t.match((await runAccounts(t, 'debit', 'eve', '4', '--json')).json(), { balance: '0' })
  await runAccounts(t, 'overdraft', 'eve', '1')
  t.match((await runAccounts(t, 'debit', 'eve', '1', '--json')).json(), { balance: '-1' })
  t.match(await runAccounts(t, 'debit', 'eve', '0.000000001'), {
    exit: 3,
    err: /Insufficient funds: "\w+" has less than that/,
  })
  await ledgerOfProcess.close()
})

t.test(
  'accounts suspend and resume: refuse the keys of an account, then accept them again',
  async t => {
    const { text } = await accountHelpers.key(annId)
    const caller = { headers: { authorization: `Bearer ${text}` } }
    t.match(await runAccounts(t, 'suspend', 'ann'), { exit: 0, out: /ann +suspended/ })
    await t.rejects(accountHelpers.route('key', database)(caller), { code: 'AUTH_SUSPENDED' })
    t.match((await runAccounts(t, 'list')).out, /ann .*suspended/)
    t.match(await runAccounts(t, 'resume', 'ann'), { exit: 0, out: /ann +active/ })
    t.match(await accountHelpers.route('key', database)(caller), { name: 'ann' })
  },
)

t.test('ledger audit: finds no difference after the commands of this file', async t => {
  t.same(await audit(database), [])
})
