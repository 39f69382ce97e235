/** JSON is parsed as JSON.parse parses it; a duplicate key is always refused. */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { parseJson } from '../../../../engine/request/json.ts'
import fc from '../../../helpers/property.ts'
import { shortOrLong } from '../../../helpers/run-settings.ts'

const RUNS = shortOrLong(600, 100_000)
const FORBIDDEN = new Set(['__proto__', 'constructor'])

const keys = fc
  .oneof(fc.string({ unit: 'grapheme' }), fc.string({ minLength: 30, maxLength: 80 }))
  .filter(key => !FORBIDDEN.has(key))
const texts = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ maxLength: 100 }))
const { value: values } = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, false),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(number => number + 0),
    texts,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(keys, tie('value'), { maxKeys: 40 }),
  ),
}))
const blanks = fc.constantFrom('', '', ' ', '\n', '\t\r')

/** A string as JSON may spell it: some of its code units escaped. */
const encodeString = (text: string, escapePattern: readonly boolean[]): string => {
  const units = [...text].flatMap((character, at) =>
    escapePattern[at % escapePattern.length]
      ? Array.from({ length: character.length }, (_, unit) => hex(character.charCodeAt(unit)))
      : [JSON.stringify(character).slice(1, -1)],
  )
  return `"${units.join('')}"`
}
const hex = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`
const codeOf = (text: string): unknown => {
  try {
    return void parseJson(Buffer.from(text))
  } catch (error) {
    return (error as { code?: string }).code
  }
}
const escapes = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 })

t.test('JSON: parses all output of JSON.stringify', async t => {
  fc.assert(
    fc.property(values, fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent)
      return isDeepStrictEqual(parseJson(Buffer.from(text)), JSON.parse(text))
    }),
    { numRuns: RUNS },
  )
  t.pass()
})

t.test('JSON: a duplicate key is refused at any depth, with any escapes', async t => {
  const duplicates = fc
    .record({
      before: fc.dictionary(keys, values, { maxKeys: 40 }),
      key: keys,
      spellings: fc.tuple(escapes, escapes),
      around: fc.tuple(values, values),
      blank: blanks,
      depth: fc.nat(3),
    })
    .map(({ before, key, spellings, around, blank, depth }) => {
      const others = Object.entries(before).filter(([name]) => name !== key)
      const middle = others.map(
        ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
      )
      const twin = (at: 0 | 1): string =>
        `${blank}${encodeString(key, spellings[at])}${blank}:${JSON.stringify(around[at])}${blank}`
      const object = `{${[twin(0), ...middle, twin(1)].join(',')}}`
      return `${'[{"in":'.repeat(depth)}${object}${'}]'.repeat(depth)}`
    })
  fc.assert(
    fc.property(duplicates, text => {
      JSON.parse(text) // accepts the duplicate
      return codeOf(text) === 'BODY_DUPLICATE_KEY'
    }),
    { numRuns: RUNS },
  )
  t.pass()
})

t.test('JSON: any bytes are parsed or refused', async t => {
  const pieces = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '"',
    '\\',
    ',',
    ':',
    'a',
    '"a"',
    '1',
    ' ',
    '\\"',
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), list => {
      const bytes = Buffer.from(list.join(''))
      try {
        return JSON.stringify(parseJson(bytes)) === JSON.stringify(JSON.parse(bytes.toString()))
      } catch (error) {
        return (error as { status?: number }).status === 400
      }
    }),
    { numRuns: RUNS },
  )
  t.pass()
})
