/** docs/errors.md is made from the error tables of the source, and explains each code. */
import t from 'tap'
import { pageOf } from './blocks.ts'
import { differences, errorsPage, explanations, sourceErrors } from './errors-page.ts'
import { entriesOf } from './tables/error-tables.ts'

t.test('docs/errors.md: is made from the tables of the source', async t => {
  const page = errorsPage(sourceErrors(), explanations())
  t.equal(pageOf('docs/errors.md'), page, 'npm run docs writes the page')
  t.match(page, /\| `INSUFFICIENT` \| 403 \| Insufficient balance.*vidu: 400 `CreditInsufficient`/)
})

t.test('docs/errors.yaml: explains each code of the source, and no other', async t => {
  const entries = sourceErrors()
  t.ok(entries.length > 300)
  const expected = { unexplained: [], unknown: [] }
  t.same(differences(entries, explanations()), expected, 'docs/errors.yaml lacks or has too many')
})

t.test('docs/errors.yaml: each entry has a cause and a way out', async t => {
  for (const group of Object.values(explanations()))
    for (const [code, text] of Object.entries(group)) t.match(text, /^[A-Z].+\. \| .+\.$/, code)
})

t.test('error tables: a new code without an explanation is found', async t => {
  const table =
    "const fault = errors({ NEW_CODE: [418, 'New %s', { as: { openai: { code: 'x' } } }] })"
  const entries = entriesOf('new.ts', table)
  t.same(entries, [{ code: 'NEW_CODE', status: 418, message: 'New %s', own: [['openai', 'x']] }])
  t.same(differences(entries, { Group: { OLD_CODE: 'Cause. | Way out.' } }), {
    unexplained: ['NEW_CODE'],
    unknown: ['OLD_CODE'],
  })
  t.match(
    errorsPage(entries, { Group: { NEW_CODE: 'Cause. | Way out.' } }),
    '| `NEW_CODE` | 418 | New %s | Cause. | Way out. | openai: `x` |',
  )
})
