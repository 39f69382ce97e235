/** The list of actions reads the rows of a page, however many actions the log has. */
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { LATEST } from '../../../plugins/action-log/statements.ts'
import { migrations } from '../../../plugins/action-log/tables.ts'

t.test('list of actions: a page is read in the order of its numbers', async t => {
  const database = new DatabaseSync(':memory:')
  for (const { text } of migrations) database.exec(text)
  const planOf = (text: string): string =>
    database
      .prepare(`EXPLAIN QUERY PLAN ${text}`)
      .all()
      .map(({ detail }) => detail)
      .join('\n')
  t.match(planOf(LATEST.text), /^SEARCH actions USING INDEX \S+ \(seq<\?\)$/)
  t.match(planOf(LATEST.text.replaceAll('+at', 'at')), /actions_at|TEMP B-TREE/, 'found otherwise')
})
