/** The check of JSON bodies gives what a slower one gives, at each number of keys that it compares
 *  in another way, and for keys of one hash. */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { parseJson } from '../../../../engine/request/json.ts'
import { parseSlowly } from './oracle.ts'

const LONG = 'k'.repeat(40)
const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at))

const outcome = (parse: (bytes: Buffer) => unknown, bytes: Buffer): unknown => {
  try {
    return { value: parse(bytes) }
  } catch (error) {
    const { code = 'none', message } = error as { code?: string; message: string }
    return { code, message }
  }
}

/** An object of `count` keys, the last of which repeats key `twin` unless that is negative. */
const keysOf = (count: number, twin: number, spell: (at: number) => string): string => {
  const names = times(count, at => spell(at === count - 1 && twin >= 0 ? twin : at))
  return `{${names.map(name => `"${name}":1`).join()}}`
}
/** Up to 128 keys have one FNV-1a hash. */
const colliding = (at: number): string => {
  const halves = times(7, bit => (at & (1 << bit) ? 'epad' : '33zx'))
  return `7yzx${halves.join('')}${at < 128 ? '' : at}`
}
const SPELLINGS: readonly ((at: number) => string)[] = [
  at => `k${at}`,
  at => `${LONG}${at}`,
  at => (at % 3 === 0 ? `\\u006b${at}` : `k${at}`),
  at => `${LONG}\\n${at}`,
  colliding,
]
const FRAMES: readonly ((text: string) => string)[] = [
  text => text,
  text => `[${text},${text}]`,
  text => `{"x":{"y":[${text}]},"z":${text}}`,
  text => `[${times(12, () => text).join()}]`,
]

t.test('JSON: any number of keys gives the same value or error as the slower check', async t => {
  const most = { depth: 64, keysPerObject: 600, keys: 3_000 }
  for (const count of [11, 12, 13, 24, 25, 31, 32, 33, 64, 127, 129, 513, 600, 601])
    for (const twin of [-1, 0, count >> 1, count - 2])
      for (const spell of SPELLINGS)
        for (const frame of FRAMES) {
          const bytes = Buffer.from(frame(keysOf(count, twin, spell)))
          const expected = outcome(body => parseSlowly(body, most), bytes)
          const actual = outcome(body => parseJson(body, most), bytes)
          if (!isDeepStrictEqual(actual, expected))
            t.same(actual, expected, `${count} keys, twin ${twin}: ${bytes}`)
        }
  t.pass()
})
