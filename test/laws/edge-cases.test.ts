/** The edge cases at which translators of other gateways failed, numbered as in the study of wire formats (§11): each has a test
 *  that is named for it, and none is named for one that does not exist. */
import { globSync, readFileSync } from 'node:fs'
import t from 'tap'

const root = new URL('../../', import.meta.url)
const EDGES = 33
const TITLE = /\(edges? (\d+(?:(?:, | and )\d+)*)\)['"`]/gm

const named = new Map<number, string[]>()
for (const path of globSync('test/{plugins,journeys,helpers}/**/*.ts', { cwd: root.pathname }))
  for (const [, numbers = ''] of readFileSync(new URL(path, root), 'utf8').matchAll(TITLE))
    for (const number of numbers.split(/, | and /).map(Number))
      named.set(number, [...(named.get(number) ?? []), path])

t.test('each has its test', async t => {
  for (let edge = 1; edge <= EDGES; edge++) t.ok(named.has(edge), `edge ${edge}`)
  t.same(
    [...named.keys()].filter(edge => edge < 1 || edge > EDGES),
    [],
    'and no other',
  )
})
