/** A list of writes that shows repeated or partial application: an entry by name, and a sum beside
 *  it. */
import { sql, statement } from '../../helpers/store/store.ts'

export const tally = {
  number: 1,
  text: `CREATE TABLE entry (id TEXT PRIMARY KEY, at BIGINT);
    CREATE TABLE total (id BIGINT PRIMARY KEY, sum BIGINT NOT NULL);
    INSERT INTO total VALUES (1, 0)`,
}
// Not idempotent by itself: a repetition shows in the sum.
export const add = (id: string) => [
  statement('add', 'UPDATE total SET sum = sum + 1 WHERE id = 1', [], { rows: 1 }),
  statement('entry', 'INSERT INTO entry VALUES (?, 1) ON CONFLICT DO NOTHING', [id]),
]
/** The same list, for a name that is accepted only once. */
export const addOnce = (id: string) => [
  statement('once', 'INSERT INTO entry VALUES (?, 1)', [id], {
    rows: 1,
    once: true,
    violates: { id: 'THERE' },
  }),
  statement('add', 'UPDATE total SET sum = sum + 1 WHERE id = 1', [], { rows: 1 }),
]
export const COUNT = sql('count', 'SELECT (SELECT count(*) FROM entry) AS n, sum FROM total')
