/** Keys made to collide cost no more than others: nobody who knows our code can make one object stop the loop. */
import t from 'tap'
import { parseJson } from '../../engine/json.ts'

/** Each pair leaves FNV-1a in one state, so 2^14 keys made of them have one hash. */
const PAIRS = [['7yzx', 'e6ad'], ...Array.from({ length: 13 }, () => ['33zx', 'epad'])]
const collidingKeys = (): string[] =>
  PAIRS.reduce((keys, [one, two]) => keys.flatMap(key => [`${key}${one}`, `${key}${two}`]), [''])

const objectOf = (keys: readonly string[]): Buffer =>
  Buffer.from(`{${keys.map(key => `"${key}":1`).join(',')}}`)

t.test('ten thousand keys of one hash', async t => {
  const body = objectOf(collidingKeys().slice(0, 9_999))
  const started = performance.now()
  t.equal(Object.keys(parseJson(body) as object).length, 9_999)
  const ms = performance.now() - started
  // 50 ms is the promise for what stops the loop; a functional deadline gets ten times that.
  t.ok(ms < 500, `${ms.toFixed(0)} ms`)
})

t.test('a key twice is found however many there are', async t => {
  for (const count of [2, 24, 25, 26, 100, 5_000]) {
    const keys = Array.from({ length: count - 1 }, (_, n) => `k${n}`)
    for (const twin of [keys[0] ?? '', keys.at(-1) ?? ''])
      t.throws(() => parseJson(objectOf([...keys, twin])), { code: 'BODY_DUPLICATE_KEY' })
    t.doesNotThrow(() => parseJson(objectOf([...keys, 'another'])))
  }
})
