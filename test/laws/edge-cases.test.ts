/** Edge cases at which translators of other gateways failed, numbered as in the study of wire
 *  formats (§11): each has a test with its number in the title. */
import { globSync, readFileSync } from 'node:fs'
import t from 'tap'

const root = new URL('../../', import.meta.url)
const EDGES = 33
const TITLE = /\(edges? (\d+(?:(?:, | and )\d+)*)\)['"`]/gm

const testsByEdge = new Map<number, string[]>()
for (const path of globSync('test/{plugins,journeys,helpers}/**/*.ts', { cwd: root.pathname }))
  for (const [, numbers = ''] of readFileSync(new URL(path, root), 'utf8').matchAll(TITLE))
    for (const number of numbers.split(/, | and /).map(Number))
      testsByEdge.set(number, [...(testsByEdge.get(number) ?? []), path])

t.test('edge cases: each number has a test, and no title has another number', async t => {
  for (let edge = 1; edge <= EDGES; edge++) t.ok(testsByEdge.has(edge), `edge ${edge}`)
  t.same(
    [...testsByEdge.keys()].filter(edge => edge < 1 || edge > EDGES),
    [],
    'no other number',
  )
})
