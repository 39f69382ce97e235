/** Keys that collide cost no more than others: no single object can block the event loop. */
import t from 'tap'
import { parseJson } from '../../../../engine/request/json.ts'

/** Each pair leaves FNV-1a in one state, so 2^14 keys made of them have one hash. */
const PAIRS = [['7yzx', 'e6ad'], ...Array.from({ length: 13 }, () => ['33zx', 'epad'])]
const collidingKeys = (): string[] =>
  PAIRS.reduce((keys, [one, two]) => keys.flatMap(key => [`${key}${one}`, `${key}${two}`]), [''])

const objectOf = (keys: readonly string[]): Buffer =>
  Buffer.from(`{${keys.map(key => `"${key}":1`).join(',')}}`)

/** CPU time of parsing, ms; the least of five runs, since other processes use the machine. */
const costOf = (body: Buffer): number => {
  const costs = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage()
    parseJson(body)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  })
  return Math.min(...costs)
}

t.test('JSON: ten thousand keys of one hash cost no more than others', async t => {
  const hostile = objectOf(collidingKeys().slice(0, 9_999))
  t.equal(Object.keys(parseJson(hostile) as object).length, 9_999)
  const honest = objectOf(Array.from({ length: 9_999 }, (_, at) => `key-${at}`.padEnd(56, 'x')))
  t.equal(honest.length > hostile.length * 0.9 && honest.length < hostile.length * 1.1, true)
  // Compared pair by pair, they would cost a thousand times as much.
  const [most, usual] = [costOf(hostile), costOf(honest)]
  t.ok(most < 30 * usual, `${most} ms beside ${usual} ms`)
})

t.test('JSON: a duplicate key is found among any number of keys', async t => {
  for (const count of [2, 24, 25, 26, 100, 5_000]) {
    const keys = Array.from({ length: count - 1 }, (_, n) => `k${n}`)
    for (const twin of [keys[0] ?? '', keys.at(-1) ?? ''])
      t.throws(() => parseJson(objectOf([...keys, twin])), { code: 'BODY_DUPLICATE_KEY' })
    t.doesNotThrow(() => parseJson(objectOf([...keys, 'another'])))
  }
})
