/** `tollgate accounts credit | debit | refund | overdraft | suspend | resume` and `tollgate usage`:
 *  effects on the ledger, output, and refusals that change nothing. */
import t, { type Test } from 'tap'
import { commands } from '../../../plugins/account/command.ts'
import { moneyVerbs } from '../../../plugins/account/money.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { openAccounts } from '../../helpers/accounts.ts'
import { call, openBooks, payer } from '../../helpers/ledger.ts'
import { ledgerOn, makeLedger } from '../../helpers/membership.ts'
import { runCommand } from '../../helpers/printed.ts'

const { host, database, ...accountHelpers } = await openAccounts(t)
await makeLedger(database)
const accounts = (t: Test, ...args: string[]) => runCommand(t, 'accounts', commands, host, args)
const usage = (t: Test, ...args: string[]) => runCommand(t, 'usage', commands, host, args)
const rows = (text: string) => database.read({ name: `test: ${text}`, text }, [])
const ledger = () =>
  Promise.all(['wallets', 'credits', 'charges'].map(each => rows(`SELECT * FROM ${each}`)))

const ann = await accountHelpers.account('ann')

t.test('accounts credit: the first credit opens the wallet, the next adds to it', async t => {
  t.match(await accounts(t, 'credit', 'ann', '12.50', '--note', 'invoice-17'), {
    exit: 0,
    out: /^credit +id +name +balance +used +overdraft\n1 +1 +ann +12\.5 +0 +0\n$/,
  })
  const second = await accounts(t, 'credit', String(ann), '0.000000001', '--json')
  t.match(second.json(), { credit: 2, id: ann, name: 'ann', balance: '12.500000001', used: '0' })
  t.match(await rows('SELECT account, kind, amount, note FROM credits ORDER BY id'), [
    { account: ann, kind: 'credit', amount: 12_500_000_000, note: 'invoice-17' },
    { account: ann, kind: 'credit', amount: 1, note: '' },
  ])
})

t.test('accounts credit: two hundred concurrent credits all count', async t => {
  const bob = await accountHelpers.account('bob')
  const credit = moneyVerbs.credit
  const args = { values: { json: true }, positionals: ['bob', '0.01'] }
  const results = await Promise.all(Array.from({ length: 200 }, () => credit?.run(args, host)))
  t.equal(results.length, 200)
  t.match(results[0], { json: { name: 'bob' } })
  t.match(await rows(`SELECT balance FROM wallets WHERE id = ${bob * 2}`), [{ balance: 2e9 }])
})

t.test('accounts show: prints the state, the keys and the money of one account', async t => {
  await accountHelpers.account('zoe')
  await accounts(t, 'credit', 'zoe', '2.5')
  await accounts(t, 'overdraft', 'zoe', '1')
  await accounts(t, 'suspend', 'zoe')
  const account = { name: 'zoe', role: 'customer', state: 'suspended', keys: 0 }
  t.match((await accounts(t, 'show', 'zoe', '--json')).json(), {
    ...account,
    balance: '2.5',
    used: '0',
    overdraft: '1',
  })
  const { exit, out } = await accounts(t, 'show', 'zoe')
  t.equal(exit, 0)
  t.match(
    out,
    /^id +name +role +state +keys +balance +used +overdraft\n\d+ +zoe +customer +suspended/,
  )
  t.match(await accounts(t, 'show', 'nobody'), { exit: 3, err: /Unknown account "nobody"/ })
  t.match(await accounts(t, 'show'), { exit: 2, err: /^Usage: tollgate accounts show NAME$/m })
})

t.test('money commands: an invalid amount or an unknown account changes nothing', async t => {
  const before = await ledger()
  const WRONG: readonly (readonly [exit: number, words: RegExp, ...args: string[]])[] = [
    [2, /is negative/, 'credit', 'ann', '--', '-5'],
    [2, /not a decimal number/, 'credit', 'ann', 'ten'],
    [2, /not a decimal number/, 'credit', 'ann', ''],
    [2, /not a decimal number/, 'credit', 'ann', '1,000.00'],
    [2, /not a decimal number/, 'credit', 'ann', '0x10'],
    [2, /not a decimal number/, 'credit', 'ann', '٥'],
    [2, /not a decimal number/, 'credit', 'ann', 'Infinity'],
    [2, /exponent/, 'credit', 'ann', '1e3'],
    [2, /decimal places/, 'credit', 'ann', '0.0000000001'],
    [2, /is more than 1000000000/, 'credit', 'ann', '1000000000.01'],
    [2, /not a decimal number/, 'credit', 'ann', '9'.repeat(400)],
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
    [3, /Insufficient funds: the balance/, 'debit', 'ann', '12.500000002'],
    [2, /must be above 0/, 'debit', 'ann', '0'],
    [2, /Usage: tollgate accounts debit NAME AMOUNT/, 'debit', 'ann'],
    [2, /Usage: tollgate accounts debit NAME AMOUNT/, 'debit', 'ann', '1', '2'],
    [2, /--note/, 'debit', 'ann', '1', '--note', 'two\nlines'],
    [3, /Unknown account "nobody"/, 'debit', 'nobody', '1'],
    [3, /Unknown account "' OR 1=1 --"/, 'debit', "' OR 1=1 --", '1'],
    [3, /Unknown call "r"/, 'refund', 'r'],
    [2, /accounts refund REQUEST/, 'refund'],
    [2, /is negative/, 'overdraft', 'ann', '--', '-1'],
    [3, /Unknown account/, 'overdraft', 'nobody', '1'],
    [3, /Unknown account/, 'suspend', 'nobody'],
    [2, /accounts suspend NAME/, 'suspend'],
    [2, /accounts resume NAME/, 'resume', 'ann', 'bob'],
  ]
  for (const [exit, words, ...args] of WRONG) {
    const output = await accounts(t, ...args)
    t.match(
      { exit: output.exit, err: output.err, out: output.out },
      { exit, err: words, out: '' },
      args.join(' '),
    )
  }
  t.same(await ledger(), before)
})

t.test('accounts refund: returns the cost of a call once', async t => {
  const cid = await accountHelpers.account('cid')
  await accounts(t, 'credit', 'cid', '1')
  const books = { ...(await openBooks(t)), database }
  const ledgerOfProcess = ledgerOn(database)
  t.teardown(() => ledgerOfProcess.close())
  const paidCall = await call(books, ledgerOfProcess, 'req_paid', payer(cid), 300_000_000n)
  const openCall = await call(books, ledgerOfProcess, 'req_open', payer(cid), 100_000_000n)
  await paidCall.settle?.(250_000_000n)
  const freeCall = await call(books, ledgerOfProcess, 'req_free', payer(cid), 1n)
  await freeCall.settle?.(0n)
  const releasedCall = await call(books, ledgerOfProcess, 'req_released', payer(cid), 1n)
  await releasedCall.release?.()
  t.match((await accounts(t, 'refund', 'req_paid', '--note', 'sorry', '--json')).json(), {
    refunded: '0.25',
    name: 'cid',
    balance: '1',
    used: '0',
  })
  const before = await ledger()
  for (const [request, words] of [
    ['req_paid', /refunded already/],
    ['req_open', /it is open/],
    ['req_free', /Nothing was charged/],
    ['req_released', /it is released/],
  ] as const)
    t.match(await accounts(t, 'refund', request), { exit: 3, err: words }, request)
  t.same(await ledger(), before)
  await openCall.settle?.(100_000_000n)
  t.test('usage: shows the cost and the refund', async t => {
    const { out } = await usage(t, 'cid')
    t.match(out, /^day +calls +cost +refunded\n\d{4}-\d\d-\d\d +3 +0\.35 +0\.25\n$/)
    const json = await usage(t, 'cid', '--by', 'call', '--json')
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
    t.match(await usage(t, 'cid', '--to', '2020-01-01'), { exit: 0, out: 'none\n' })
    t.match(await usage(t, 'cid', '--by', 'hour'), { exit: 2, err: /one of call, day/ })
    t.match(await usage(t, 'cid', '--from', 'monday'), { exit: 2, err: /must be a date/ })
    t.match(await usage(t, 'nobody'), { exit: 3, err: /Unknown account/ })
    t.match(await usage(t), { exit: 2, err: /tollgate usage NAME/ })
  })
})

t.test('accounts overdraft: lets the balance fall to the overdraft and no further', async t => {
  const dan = await accountHelpers.account('dan')
  t.match((await accounts(t, 'overdraft', 'dan', '5', '--json')).json(), {
    name: 'dan',
    balance: '0',
    overdraft: '5',
  })
  const ledgerOfProcess = ledgerOn(database)
  t.equal(await ledgerOfProcess.take(payer(dan), 5_000_000_001n), 'account')
  t.equal(await ledgerOfProcess.take(payer(dan), 5_000_000_000n), undefined)
  t.match(await accounts(t, 'overdraft', 'dan', '4.99'), { exit: 3, err: /below that overdraft/ })
  ledgerOfProcess.give(payer(dan), 5_000_000_000n, await ledgerOfProcess.process())
  await ledgerOfProcess.close()
  t.match(await accounts(t, 'overdraft', 'dan', '0'), { exit: 0 })
})

t.test('accounts debit: takes at most the money that no call holds', async t => {
  const eve = await accountHelpers.account('eve')
  t.match(await accounts(t, 'debit', 'eve', '1'), {
    exit: 3,
    err: /Insufficient funds: the balance/,
  })
  t.same(await rows(`SELECT id FROM wallets WHERE id = ${eve * 2}`), [], 'no wallet was created')
  await accounts(t, 'credit', 'eve', '10')
  const ledgerOfProcess = ledgerOn(database)
  const hold = 4_000_000_000n
  t.equal(await ledgerOfProcess.take(payer(eve), hold), undefined)
  t.match(await accounts(t, 'debit', 'eve', '6.000000001'), {
    exit: 3,
    err: /Insufficient funds: the balance/,
  })
  t.match((await accounts(t, 'debit', 'eve', '6', '--note', 'credited twice', '--json')).json(), {
    name: 'eve',
    balance: '4',
    used: '0',
  })
  t.match(
    await rows(`SELECT kind, amount, note FROM credits WHERE account = ${eve} AND amount < 0`),
    [{ kind: 'debit', amount: -6_000_000_000, note: 'credited twice' }],
  )
  ledgerOfProcess.give(payer(eve), hold, await ledgerOfProcess.process())
  t.match((await accounts(t, 'debit', 'eve', '4', '--json')).json(), { balance: '0' })
  await accounts(t, 'overdraft', 'eve', '1')
  t.match((await accounts(t, 'debit', 'eve', '1', '--json')).json(), { balance: '-1' })
  t.match(await accounts(t, 'debit', 'eve', '0.000000001'), {
    exit: 3,
    err: /Insufficient funds: the balance/,
  })
  await ledgerOfProcess.close()
})

t.test('accounts suspend and resume: keys are refused, then accepted', async t => {
  const { text } = await accountHelpers.key(ann)
  const caller = { headers: { authorization: `Bearer ${text}` } }
  t.match(await accounts(t, 'suspend', 'ann'), { exit: 0, out: /ann +suspended/ })
  await t.rejects(accountHelpers.route('key', database)(caller), { code: 'AUTH_SUSPENDED' })
  t.match((await accounts(t, 'list')).out, /ann .*suspended/)
  t.match(await accounts(t, 'resume', 'ann'), { exit: 0, out: /ann +active/ })
  t.match(await accountHelpers.route('key', database)(caller), { name: 'ann' })
})

t.test('ledger audit: finds no difference after all commands', async t => {
  t.same(await audit(database), [])
})
