/** docs/prices.md: its prices are valid, and it names every key of the price language. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { METERS } from '../../plugins/billing/meters.ts'
import { problemsOf } from '../helpers/billing.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/prices.md'), 'utf8')
const blocks = page.split(/\n\n(?! {4})/).filter(part => /^(?: {4}.*\n?)+$/m.test(part))

t.test('docs/prices.md: its examples are valid prices', async t => {
  const prices = blocks.flatMap(part => part.match(/^(?: {4}.*(?:\n|$))+/m) ?? [])
  t.ok(prices.length >= 5, `${prices.length} examples`)
  for (const text of prices) t.same(problemsOf(parse(text)), [], text)
})

t.test('docs/prices.md: names every meter and key', async t => {
  for (const word of [...METERS, 'by', 'when', 'min', 'step', 'per', 'max_calls', 'free', 'time'])
    t.match(page, new RegExp(`\\b${word}\\b`), word)
})
