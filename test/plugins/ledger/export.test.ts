/** `tollgate export ledger`: all credits and closed charges, without cells that run as formulas. */
import t, { type Test } from 'tap'
import type { HostBase } from '../../../engine/plugin.ts'
import { addMember } from '../../../plugins/credentials/members.ts'
import { auditCommand } from '../../../plugins/ledger/audit.ts'
import { exportCommand } from '../../../plugins/ledger/commands/export.ts'
import { linkCharge } from '../../../plugins/ledger/views/task-charges.ts'
import { runCommand } from '../../helpers/gateway/command-line.ts'
import { call, openBooks, payerOf } from '../../helpers/money/ledger.ts'
import { hostOver, openAccountsIn } from '../../helpers/store/accounts.ts'
import { ENGINES } from '../../helpers/store/store.ts'

const commands = { export: exportCommand({}) }
const booksByEngine = await Promise.all(ENGINES.map(engine => openBooks(t, engine)))

/** Settings of a task. */
const TASK = { resolution: '720p', duration: 5 }

for (const [at, books] of booksByEngine.entries())
  t.test(`export ledger on ${ENGINES[at]}`, async t => {
    const host = hostOver(books.database)
    const { account } = await openAccountsIn(books.database)
    t.equal(await account('ann'), 1)
    await account('bob')
    await books.database.write(addMember(1, { name: 'mia', role: 'member' }, 1))
    await books.credit(2, 7n)
    const rowsOf = async (t: Test, ...args: readonly string[]) => {
      const command = commands
      const { exit, out } = await runCommand(t, 'export', command, host, ['ledger', ...args])
      t.equal(exit, 0)
      const lines = out.split('\n').filter(line => line !== '')
      return lines.map(line => JSON.parse(line))
    }
    await books.credit(1, 5_000_000_000n)
    const ledger = await books.ledger()
    const payer = { ...payerOf(1, 7), member: 1 }
    const paidCall = await call(books, ledger, 'a', payer, 2_000_000_000n)
    await books.database.write([
      linkCharge(
        'task-1',
        'a',
        TASK,
        '{"upstream":"up","attributes":{"service_tier":"flex"},"ms":40}',
      ),
    ])
    await paidCall.settle?.(1_500_000_000n)
    const freeCall = await call(books, ledger, 'b', payerOf(1), 1n)
    await freeCall.release?.()
    await call(books, ledger, 'open', payerOf(1), 1n)
    const setFormula =
      "UPDATE charges SET model = '=cmd|x', lines = '[{\"meter\":\"input\"}]' WHERE request = 'c'"
    const oddCall = await call(books, ledger, 'c', payerOf(1), 1n)
    await books.database.write([{ sql: { name: setFormula, text: setFormula }, values: [] }])
    await oddCall.release?.()

    await t.test('export ledger: prints JSON lines', async t => {
      const { exit, out } = await runCommand(t, 'export', commands, host, ['ledger', '--jsonl'])
      const same = await runCommand(t, 'export', commands, host, ['ledger', '--json'])
      t.equal(same.out, out, '--json prints the same lines')
      t.equal(exit, 0)
      const lines = out
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line))
      t.match(lines, [
        { account: 2, kind: 'credit' },
        { account: 1, kind: 'credit', amount: '5', note: 'test', account_name: 'ann' },
        {
          account: 1,
          kind: 'charge',
          request: 'a',
          amount: '-1.5',
          key: 7,
          member: 1,
          member_name: 'mia',
          task: 'task-1',
          settings: TASK,
        },
        { kind: 'released', request: 'b', amount: '0', member: null, member_name: null },
        { kind: 'released', request: 'c' },
      ])
      t.equal(lines.length, 5, 'open charges are not exported')
    })
    await t.test('export ledger: one account and a period', async t => {
      const all = await rowsOf(t, '--jsonl')
      const day = (offset: number) =>
        new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10)
      const period = ['--from', day(-1), '--to', day(2)]
      t.same(await rowsOf(t, '--jsonl', ...period), all)
      const own = all.filter(({ account }) => account === 1)
      t.same(await rowsOf(t, '--jsonl', '--account', 'ann', ...period), own)
      t.same(await rowsOf(t, '--jsonl', '--account', '1'), own)
      t.match(await rowsOf(t, '--jsonl', '--account', 'bob'), [
        { account_name: 'bob', amount: '0.000000007', currency: 'CNY' },
      ])
      t.same(await rowsOf(t, '--jsonl', '--from', day(2)), [])
      t.same(await rowsOf(t, '--jsonl', '--to', day(-1)), [])
    })
    await t.test('export ledger: prints CSV', async t => {
      const { exit, out } = await runCommand(t, 'export', commands, host, ['ledger'])
      t.equal(exit, 0)
      const [head, , , charge, , last = ''] = out.split('\n')
      t.match(
        head,
        /^at,account,kind,request,amount,planned,key,member,model,.*,task,settings,upstream,target,upstream_key,served_model,response_id,cache,tier,speed,geography,zone,tags,rule,guard,first_content_ms,ms,account_name,key_name,member_name,currency$/,
      )
      t.match(
        charge,
        ',task-1,"{""resolution"":""720p"",""duration"":5}",up,,,,,,flex,,,,,,,40,40,ann,,mia,CNY',
      )
      t.match(charge, /,1,charge,a,-1.5,0,7,1,m,chat,false,0,\{\},\[\],/)
      t.match(last, ",'=cmd|x,", 'the formula is escaped')
      t.match(last, '"[{""meter"":""input""}]"')
    })
  })

t.test('export ledger: refuses invalid options', async t => {
  const host = {} as HostBase
  for (const args of [[], ['books'], ['ledger', 'x'], ['ledger', '--csv', '--jsonl']])
    t.match(await runCommand(t, 'export', commands, host, args), {
      exit: 2,
      err: /^(Usage: tollgate export ledger|unknown command "books"; Usage: tollgate export|use either --csv or --jsonl, not both)/,
    })
  const INVALID: readonly (readonly [args: readonly string[], err: RegExp])[] = [
    [['--from', '2026-02-30'], /--from must be a date or time/],
    [['--to', 'now'], /--to must be a date or time/],
    [['--from', '2026-02-02', '--to', '2026-02-02'], /--from must be before --to/],
  ]
  for (const [args, err] of INVALID)
    t.match(await runCommand(t, 'export', commands, host, ['ledger', ...args]), {
      exit: 2,
      err,
    })
  t.match(await runCommand(t, 'audit', { audit: auditCommand }, host, ['books']), {
    exit: 2,
    err: /^unknown command "books"; Usage: tollgate audit ledger/,
  })
})
