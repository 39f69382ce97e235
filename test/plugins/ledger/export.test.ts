/** `tollgate export ledger`: all credits and closed charges, without cells that run as formulas. */
import t from 'tap'
import type { HostBase } from '../../../engine/plugin.ts'
import { auditCommand } from '../../../plugins/ledger/audit.ts'
import { exportCommand } from '../../../plugins/ledger/commands/export.ts'
import { linkCharge } from '../../../plugins/ledger/views/task-charges.ts'
import { runCommand } from '../../helpers/gateway/command-line.ts'
import { call, openBooks, payerOf } from '../../helpers/money/ledger.ts'
import { ENGINES } from '../../helpers/store/store.ts'

const booksByEngine = await Promise.all(ENGINES.map(engine => openBooks(t, engine)))

/** Settings of a task. */
const TASK = { resolution: '720p', duration: 5 }

for (const [at, books] of booksByEngine.entries())
  t.test(`export ledger on ${ENGINES[at]}`, async t => {
    const host = { database: books.database } as unknown as HostBase
    await books.credit(1, 5_000_000_000n)
    const ledger = await books.ledger()
    const paidCall = await call(books, ledger, 'a', payerOf(1, 7), 2_000_000_000n)
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
      const { exit, out } = await runCommand(t, 'export', { export: exportCommand }, host, [
        'ledger',
        '--jsonl',
      ])
      const same = await runCommand(t, 'export', { export: exportCommand }, host, [
        'ledger',
        '--json',
      ])
      t.equal(same.out, out, '--json prints the same lines')
      t.equal(exit, 0)
      const lines = out
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line))
      t.match(lines, [
        { account: 1, kind: 'credit', amount: '5', note: 'test' },
        {
          account: 1,
          kind: 'charge',
          request: 'a',
          amount: '-1.5',
          key: 7,
          task: 'task-1',
          settings: TASK,
        },
        { kind: 'released', request: 'b', amount: '0' },
        { kind: 'released', request: 'c' },
      ])
      t.equal(lines.length, 4, 'open charges are not exported')
    })
    await t.test('export ledger: prints CSV', async t => {
      const { exit, out } = await runCommand(t, 'export', { export: exportCommand }, host, [
        'ledger',
      ])
      t.equal(exit, 0)
      const [head, , charge, , last = ''] = out.split('\n')
      t.match(
        head,
        /^at,account,kind,request,amount,key,model,.*,task,settings,upstream,target,upstream_key,served_model,response_id,tier,speed,geography,first_content_ms,ms$/,
      )
      t.match(charge, ',task-1,"{""resolution"":""720p"",""duration"":5}",up,,,,,flex,,,40,40')
      t.match(charge, /,1,charge,a,-1.5,7,m,chat,false,0,\{\},\[\],/)
      t.match(last, ",'=cmd|x,", 'the formula is escaped')
      t.match(last, '"[{""meter"":""input""}]"')
    })
  })

t.test('export ledger: refuses invalid options', async t => {
  const host = {} as HostBase
  for (const args of [[], ['books'], ['ledger', 'x'], ['ledger', '--csv', '--jsonl']])
    t.match(await runCommand(t, 'export', { export: exportCommand }, host, args), {
      exit: 2,
      err: /^(Usage: tollgate export ledger|unknown command "books"; Usage: tollgate export|use either --csv or --jsonl, not both)/,
    })
  t.match(await runCommand(t, 'audit', { audit: auditCommand }, host, ['books']), {
    exit: 2,
    err: /^unknown command "books"; Usage: tollgate audit ledger/,
  })
})
