/** Rows as CSV: a spreadsheet reads no text as a formula, and numbers stay numbers. */
import t from 'tap'
import { csvRows } from '../../../plugins/ledger/views/csv.ts'

t.test('CSV: formulas get an apostrophe, amounts below zero do not', t => {
  const line = (value: string) => csvRows(['a'], [{ a: value }]).trimEnd()
  for (const text of ['=1+1', '@x', '+3', '-2+3', "-2+cmd|' /C calc'!A0", '-', '＝1', '＠x', '-1.'])
    t.equal(line(text), `'${text}`)
  t.equal(line('\n=1'), `"'\n=1"`)
  for (const amount of ['-2', '-0.000000001', '12.5', '0']) t.equal(line(amount), amount)
  t.end()
})
