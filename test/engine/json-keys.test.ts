/** Keys made to collide cost no more than others: nobody who knows our code can make one object stop the loop. */
import t from 'tap'
import { parseJson } from '../../engine/json.ts'

/** Pairs of blocks that leave FNV-1a in the same state: 2^14 keys of one hash, for whoever hashes without a seed. */
const collidingKeys = (): string[] => {
  let hash = 0x811c9dc5 | 0
  let keys = ['']
  for (let block = 0; block < 14; block++) {
    const [one, two, after] = twins(hash)
    keys = keys.flatMap(key => [key + one, key + two])
    hash = after
  }
  return keys
}
const twins = (hash: number): readonly [one: string, two: string, after: number] => {
  const seen = new Map<number, string>()
  for (let n = 0; ; n++) {
    const text = n.toString(36).padStart(6, '0')
    const after = step(hash, text)
    const twin = seen.get(after)
    if (twin !== undefined) return [twin, text, after]
    seen.set(after, text)
  }
}
const step = (hash: number, text: string): number => {
  let next = hash
  for (const byte of Buffer.from(text)) next = Math.imul(next ^ byte, 0x01000193)
  return next
}

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
