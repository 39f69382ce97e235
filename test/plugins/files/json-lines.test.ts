/** The check of JSON Lines agrees with JSON.parse, in any chunks and in constant memory. */
import t from 'tap'
import { JsonLines } from '../../../plugins/files/json-lines.ts'
import fc from '../../helpers/property.ts'

/** The first problem of a text that arrives in chunks. */
const problemOf = (text: string | Buffer, size = 7) => {
  const lines = new JsonLines()
  const bytes = Buffer.from(text as string)
  for (let from = 0; from < bytes.length; from += size) {
    const problem = lines.write(bytes.subarray(from, from + size))
    if (problem) return problem
  }
  return lines.end()
}
const isValid = (text: string): boolean => {
  const lines = text.split('\n').filter(line => line.trim() !== '')
  try {
    return lines.length > 0 && lines.every(line => line.trim().startsWith('{') && JSON.parse(line))
  } catch {
    return false
  }
}

t.test('JSON lines: accepts what JSON.parse accepts', t => {
  const line = fc
    .dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue())
    .map(value => JSON.stringify(value))
  fc.assert(
    fc.property(
      fc.array(line, { minLength: 1 }),
      fc.integer({ min: 1, max: 40 }),
      (lines, size) => {
        t.equal(problemOf(lines.join('\n'), size), undefined, lines.join('\n'))
      },
    ),
  )
  for (const text of [
    '{}',
    '{}\n',
    ' {"a": [1, -0.5e+3, true, false, null, {}, []]}\r\n\n{ }',
    '{"a":"\\u00e9\\n\\""}',
  ])
    t.equal(problemOf(text), undefined, text)
  t.end()
})

t.test('JSON lines: a text with one byte changed is refused where JSON.parse refuses it', t => {
  const text = '{"a":[1,2.5e3,"x\\u00e9\\n",true,null],"b":{"c":-0}}\n{"d":"e"}'
  const replacements = fc.constantFrom(...'{}[]:,"\\ u0-.eE1tn\n\t\x01'.split(''))
  fc.assert(
    fc.property(fc.nat(text.length - 1), replacements, fc.boolean(), (at, character, isAdded) => {
      const changed = text.slice(0, at) + character + text.slice(isAdded ? at : at + 1)
      t.equal(problemOf(changed) === undefined, isValid(changed), changed)
    }),
    { numRuns: 2_000 },
  )
  t.end()
})

t.test('JSON lines: reads every short number as JSON.parse does', t => {
  const differences: string[] = []
  const check = (number: string, length: number): void => {
    const text = `{"a":${number}}`
    if ((problemOf(text) === undefined) !== isValid(text)) differences.push(number)
    if (length > 0) for (const character of '-+.eE01') check(number + character, length - 1)
  }
  check('', 5)
  t.same(differences, [])
  t.end()
})

t.test('JSON lines: names the line and the reason', t => {
  const cases: readonly (readonly [string | Buffer, number, RegExp])[] = [
    ['', 1, /not a dictionary/],
    ['\n \n', 3, /not a dictionary/],
    ['{}\n[]\n', 2, /not a dictionary/],
    ['{}\n"a"', 2, /not a dictionary/],
    ['{}\n{"a":1', 2, /incomplete/],
    ['{\n}', 1, /not valid JSON/],
    ['{}{}', 1, /not valid JSON/],
    ['\ufeff{}', 1, /not a dictionary/],
    [Buffer.from('7b2261223a22c328227d', 'hex'), 1, /UTF-8/],
    [Buffer.from('7b2261223a22eda080227d', 'hex'), 1, /UTF-8/],
    [`{"a":${'['.repeat(600)}`, 1, /nested/],
  ]
  for (const [text, line, reason] of cases)
    t.match(problemOf(text, 3), { line, reason }, String(text))
  t.end()
})

t.test('JSON lines: a line of 16 MiB is the longest', t => {
  const most = 16 * 2 ** 20
  const line = (bytes: number): string => `{"a":"${'x'.repeat(bytes - 8)}"}`
  t.equal(problemOf(`${line(most)}\n${line(most)}`, 65_536), undefined)
  t.match(problemOf(`{}\n${line(most + 1)}`, 65_536), { line: 2, reason: /longer than 16777216/ })
  t.end()
})
