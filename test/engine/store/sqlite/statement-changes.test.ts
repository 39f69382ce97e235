/** Statements are sent as changes of the one before: the writer gets the same statements. */
import t from 'tap'
import type { Statement, Value } from '../../../../engine/plugin.ts'
import { StatementDecoder } from '../../../../engine/store/sqlite/statement-decoder.ts'
import { StatementEncoder } from '../../../../engine/store/sqlite/statement-encoder.ts'
import { createChance } from '../../../helpers/run-settings.ts'
import { statement } from '../../../helpers/store/store.ts'

/** Sends lists as a client does; returns the values that the writer gets, and the JSON. */
const connect = (sendsChanges: boolean) => {
  const encoder = new StatementEncoder()
  encoder.sendsChanges = sendsChanges
  const decoder = new StatementDecoder()
  return (...list: readonly Statement[]) => {
    const json = encoder.encodeList(1, false, list)
    for (const text of JSON.parse(JSON.stringify(encoder.takeNewTexts()))) decoder.addText(text)
    const [, , ...statements] = JSON.parse(json)
    return { json, steps: statements.map((each: never) => decoder.decode(each)) }
  }
}
const pay = (...values: readonly Value[]): Statement => ({
  sql: { name: 'pay', text: 'UPDATE a SET b = b + ? WHERE c = ? AND d = ?', sums: [0] },
  values,
  rows: 1,
})

t.test('statement encoder: equal values are not sent again', async t => {
  const send = connect(true)
  send(pay(1n, 'account', null))
  const { json, steps } = send(pay(2n, 'account', null))
  t.equal(json, '[1,0,[-1,0,2]]')
  t.match(steps, [{ text: /^UPDATE a/, rows: 1, values: [2, 'account', null], sums: [0] }])
})

t.test('statement encoder: a writer of an earlier version gets every value', async t => {
  const send = connect(false)
  send(pay(1n, 'account', null))
  t.equal(send(pay(2n, 'account', null)).json, '[1,0,[0,1,2,"account",null]]')
})

t.test('statement decoder: any sequence of statements arrives as it was sent', async t => {
  const samples: readonly Value[] = [
    0,
    1,
    -1,
    1.5,
    2n ** 60n,
    7n,
    '',
    'é"\\',
    null,
    Buffer.from('b'),
  ]
  const chance = createChance(1)
  const random = (below: number): number => Math.floor(chance() * below)
  const send = connect(true)
  for (let round = 0; round < 2_000; round++) {
    const list = Array.from({ length: 1 + random(3) }, () => {
      const values = Array.from({ length: 2 + random(2) }, () => samples[random(10)] as Value)
      return statement(`text ${random(3)}`, `SELECT ${random(2)}`, values, { rows: random(2) })
    })
    const expected = list.map(({ sql, rows, values }) => ({
      text: sql.text,
      rows,
      values: values.map(value => (typeof value === 'bigint' ? Number(value) : value)),
    }))
    const numbers = (value: Value) => (typeof value === 'bigint' ? Number(value) : value)
    const received = send(...list).steps.map(
      ({ text, rows, values }: (typeof expected)[number]) => ({
        text,
        rows,
        values: values.map(numbers),
      }),
    )
    if (JSON.stringify(received) !== JSON.stringify(expected)) t.same(received, expected)
  }
})

t.test('statement encoder: statements after a value that cannot be stored are whole', async t => {
  const send = connect(true)
  send(pay(1, 'account', 'x'))
  t.throws(() => send(pay(2, 'other', 'x'), pay(Number.NaN, 'account', 'x')), {
    code: 'STORE_VALUE',
  })
  t.match(send(pay(1, 'other', 'x')).steps, [{ values: [1, 'other', 'x'] }])
})

t.test('statement decoder: statements that differ in summed values have the same key', async t => {
  const send = connect(true)
  const [first] = send(pay(1, 'account', 'x')).steps
  const [same] = send(pay(2, 'account', 'x')).steps
  const [other] = send(pay(2, 'second', 'x')).steps
  t.equal(same.sumKey, first.sumKey)
  t.not(other.sumKey, same.sumKey)
})
