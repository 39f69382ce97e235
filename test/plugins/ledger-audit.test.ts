/** The audit finds every kind of wrong book, and nothing in right ones. */
import t from 'tap'
import { audit } from '../../plugins/ledger/audit.ts'
import { call, openBooks, payer } from '../helpers/ledger.ts'
import { openMemory } from '../helpers/ledger-memory.ts'

const books = await openBooks(t)
const ledger = await books.ledger()
await books.credit(1, 1_000n)
const done = await call(books, ledger, 'a', payer(1, 11, 900n), 100n)
await done.settle?.(60n)
await call(books, ledger, 'b', payer(1, 11, 900n), 100n)
const write = (text: string) => books.database.write([{ sql: { name: text, text }, values: [] }])

t.test('right books', async t => {
  t.same(await audit(books.database), [])
})

t.test('no sum is read anew for every wallet', async t => {
  const memory = openMemory()
  const asked: string[] = []
  await audit({
    async read({ text }) {
      asked.push(text)
      return []
    },
  })
  for (const text of asked) {
    const plan = memory.rows(`EXPLAIN QUERY PLAN ${text}`)
    t.ok(plan.length > 0)
    for (const { detail } of plan) t.notMatch(detail, /^SCAN .*LEFT-JOIN/, text)
  }
})

const WRONG: readonly (readonly [rule: string, spoil: string, mend: string])[] = [
  [
    'balance = sum of entries',
    'UPDATE wallets SET balance = balance + 1 WHERE id = 2',
    'UPDATE wallets SET balance = balance - 1 WHERE id = 2',
  ],
  [
    'used = sum of charges less refunds',
    'UPDATE wallets SET used = used + 1 WHERE id = 2',
    'UPDATE wallets SET used = used - 1 WHERE id = 2',
  ],
  [
    'reserved = sum of shares',
    'UPDATE wallets SET reserved = reserved + 1 WHERE id = 2',
    'UPDATE wallets SET reserved = reserved - 1 WHERE id = 2',
  ],
  [
    'open holds stand in shares',
    "UPDATE charges SET held = held + 5000 WHERE request = 'b'",
    "UPDATE charges SET held = held - 5000 WHERE request = 'b'",
  ],
  [
    'every charge is closed by somebody who is there',
    "UPDATE charges SET process = 'gone' WHERE request = 'b'",
    `UPDATE charges SET process = '${await ledger.process()}' WHERE request = 'b'`,
  ],
  [
    'balance never below the overdraft',
    'UPDATE credits SET at = at + 100000000',
    'UPDATE credits SET at = at - 100000000',
  ],
]
for (const [rule, spoil, mend] of WRONG)
  t.test(`wrong books: ${rule}`, async t => {
    await write(spoil)
    t.ok((await audit(books.database)).some(finding => finding.rule === rule))
    await write(mend)
    t.same(await audit(books.database), [])
  })
