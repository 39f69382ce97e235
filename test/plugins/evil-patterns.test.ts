/** Fifty patterns that stall JavaScript: a schema that holds one is refused, or takes time in the length of the text only. */
import t from 'tap'
import validate from '../../plugins/validate.ts'
import { fakeExchange, fakeHost } from '../helpers/exchange.ts'
import { scaled } from '../helpers/long.ts'

const LENGTH = scaled(5_000, 1 << 20)
const SHAPES: readonly string[] = [
  '(X+)+',
  '(X*)*',
  '(X|X)*',
  '(X|XX)+',
  '(X|X?)+',
  '(X+|Y)*',
  '(X*Y*)*',
  '(X+X+)+',
  '((X+)+)+',
  '(X{1,9}){1,9}',
]
const PARTS: readonly string[] = ['a', '[a-z]', '\\w', '.', '(?:a|b)']
const patterns = SHAPES.flatMap(shape =>
  PARTS.map(part => `^${shape.replaceAll('X', part).replaceAll('Y', 'b')}$`),
)

t.test(`${patterns.length} of them on ${LENGTH} letters`, { timeout: 600_000 }, async t => {
  let [refused, slowest] = [0, 0]
  for (const pattern of patterns) {
    const text = JSON.stringify({ properties: { a: { type: 'string', pattern } } })
    const host = fakeHost({ files: { 'evil.json': text } })
    const exchange = fakeExchange({ body: { a: `${'a'.repeat(LENGTH)}\n` } })
    try {
      const stage = await validate.setup('evil.json', host)
      const started = performance.now()
      await stage.handle?.(exchange, async () => {}).catch(() => {})
      slowest = Math.max(slowest, performance.now() - started)
    } catch {
      refused++
    }
  }
  t.comment(`${refused} refused; the slowest of the others took ${slowest.toFixed(0)} ms`)
  t.equal(patterns.length, 50)
  t.ok(refused < patterns.length, 'none of them stalls, or this line is never reached')
})
