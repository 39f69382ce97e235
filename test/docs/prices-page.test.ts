/** docs/prices.md: its prices are valid, and it names every key of the price language. */
import t from 'tap'
import { parse } from 'yaml'
import { METERS } from '../../plugins/billing/meters.ts'
import { problemsOf } from '../helpers/money/billing.ts'
import { blocksOf, pageOf } from './blocks.ts'

const PAGE = 'docs/prices.md'
t.test('docs/prices.md: its examples are valid prices', async t => {
  const examples = blocksOf(PAGE)
  t.ok(examples.length >= 5)
  for (const { text } of examples) t.same(problemsOf(parse(text)), [], text)
})

t.test('docs/prices.md: names every meter and key', async t => {
  for (const word of [...METERS, 'by', 'when', 'min', 'step', 'per', 'max_calls', 'free', 'time'])
    t.match(pageOf(PAGE), new RegExp(`\\b${word}\\b`), word)
})
