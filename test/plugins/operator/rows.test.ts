/** Rows of the store as APIs show them: each member by the shape of its column; pages of them. */
import t from 'tap'
import { pageOf, rowReader } from '../../../plugins/operator/rows.ts'
import { MONEY } from '../../../plugins/rows/money.ts'
import {
  any,
  described,
  integer,
  nullable,
  number,
  oneOf,
  text,
  time,
} from '../../../plugins/shapes.ts'

t.test('rows: each member is read as its shape says', async t => {
  const read = rowReader({
    id: integer,
    name: text,
    share: number,
    state: oneOf('open', 'closed'),
    at: time,
    paid: MONEY,
    key: nullable(integer),
    ends: described('Null: never.', nullable(time)),
    body: any,
  })
  const row = { id: 7n, name: 12, share: 0.5, state: 'open', at: 0, paid: 1_500_000_000, body: 'x' }
  const view = {
    id: 7,
    name: '12',
    share: 0.5,
    state: 'open',
    at: '1970-01-01T00:00:00.000Z',
    paid: '1.5',
    key: null,
    ends: null,
    body: 'x',
  }
  t.strictSame(read({ ...row, key: null, ends: null }), view)
  t.strictSame(read(row), view, 'a column that was not read is null')
  t.match(read({ ...row, key: 8n, ends: 1 }), { key: 8, ends: '1970-01-01T00:00:00.001Z' })
})

t.test('rows: members that no column has are computed, and stay in their order', async t => {
  const read = rowReader({ id: integer, name: text, key: nullable(text) }, ({ id }) => ({
    name: `n${id}`,
  }))
  t.equal(JSON.stringify(read({ key: 'k', id: 1 })), '{"id":1,"name":"n1","key":"k"}')
})

t.test('pages: the row beyond the size is the sign of another page', async t => {
  const rows = [{ id: 1 }, { id: 2 }, { id: 3 }]
  t.same(
    pageOf(rows, 2, ({ id }) => id),
    { data: [1, 2], next: '2' },
  )
  t.same(
    pageOf(rows, 3, ({ id }) => id),
    { data: [1, 2, 3], next: null },
  )
  t.same(
    pageOf([], 3, ({ id }) => id),
    { data: [], next: null },
  )
  t.match(
    pageOf(
      rows,
      1,
      row => row,
      ({ id }) => `row ${id}`,
    ),
    { next: 'row 1' },
  )
})
