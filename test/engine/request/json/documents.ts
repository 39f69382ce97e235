/** Random JSON documents with odd shapes, some of them damaged. */
import { seed } from '../../../helpers/run-settings.ts'

/** Random numbers below `n`, the same for a seed (xorshift). */
const randomOf = (start: number) => {
  let state = start >>> 0 || 1
  return (n: number): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % n
  }
}
export const random = randomOf(seed())
export const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T
const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

const PIECES = [
  'a',
  'bc',
  ' ',
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  'é',
  '漢',
  '😀',
  '\u0001',

  '\\"',
  '\\\\',
  '\\\\\\"',
  '\\n',
  '\\/',
  '\\u0061',
  '\\u0022',
  '\\ud83d',
  '\\ude00',
  '\\x',
  'x'.repeat(15),
  'y'.repeat(16),
  'z'.repeat(130),
  '\\"'.repeat(9),
  '\\\\'.repeat(33),
]
const text = (): string => times(random(random(12) === 0 ? 60 : 8), () => pick(PIECES)).join('')
const KEYS = [
  'a',
  '\\u0061',
  'b',
  'é',
  '\\u00e9',
  '',
  '\\ud83d',
  '\\ude00',
  '\\ud83d\\ude00',
  '😀',
  '\ufffd',
  '\\ufffd',
  '__proto__',
  'constructor',
  '\\u0063onstructor',
  '__pr\\u006fto__',
  'constructo',
]
const key = (): string => {
  if (random(4) === 0) return pick(KEYS)
  return random(4) === 0 ? text() : `k${random(200)}`
}
const blank = (): string => (random(8) === 0 ? pick([' ', '\n', '\t\r', ' '.repeat(200)]) : '')
const object = (depth: number): string => {
  const count = random(30) === 0 ? random(60) : random(6)
  const member = (): string => `${blank()}"${key()}"${blank()}:${blank()}${value(depth - 1)}`
  return `{${times(count, member).join(',')}${blank()}}`
}
const value = (depth: number): string => {
  const kind = random(8)
  if (random(24) === 0) return plainList()
  if (depth <= 0 || kind < 3) return `"${text()}"`
  if (kind === 3) return pick(['1', '-0.5e3', 'true', 'null', '12345678901234567890', '01', '+1'])
  if (kind < 6) return `[${times(random(4), () => value(depth - 1)).join(`${blank()},`)}]`
  return object(depth)
}
/** Many bytes that do nothing, or nearly: numbers and literals of one length or several. */
const plainList = (): string => {
  const items = times(1 + random(2), () =>
    pick(['1', '123', '1234567', 'true', 'null', '"a"', ' ']),
  )
  const list = `${items.join(',')},`.repeat(random(100))
  return random(3) === 0
    ? `{"n":[${list}0],${list}"n":1}`
    : `[${list}{"m":${' '.repeat(random(300))}1}]`
}
const deep = (): string => {
  const depth = 62 + random(5)
  return random(2) ? '['.repeat(depth) + ']'.repeat(depth) : '{"a":'.repeat(depth)
}
const many = (): string => {
  const count = pick([24, 25, 26, 9_999, 10_001])
  return `{${times(count, at => `"${random(count * 4) ? `n${at}` : 'n1'}":1`).join(',')}}`
}
/** Changes one byte, removes a few or cuts off the rest. */
const damage = (bytes: Buffer): Buffer => {
  const at = random(Math.max(1, bytes.length))
  const kind = random(4)
  if (kind === 0) return bytes.subarray(0, at)
  if (kind === 1) return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random(3))])
  const changed = Buffer.from(bytes)
  if (changed.length > 0)
    changed[at] = kind === 2 ? random(256) : pick([...Buffer.from('"\\{}[]:, ')])
  return changed
}
export const document = (): Buffer => {
  const kind = random(400)
  const json = kind === 0 ? many() : kind < 8 ? deep() : random(3) ? object(4) : value(4)
  const bytes = Buffer.from(`${blank()}${json}${blank()}`)
  return random(3) === 0 ? damage(bytes) : bytes
}
