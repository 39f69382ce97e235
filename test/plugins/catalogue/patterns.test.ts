/** Model name patterns: matching, captured parts, order, and invalid patterns. */
import t from 'tap'
import { bySpecificity } from '../../../plugins/catalogue/catalogue.ts'
import { insertCaptures, isPattern, parsePattern } from '../../../plugins/catalogue/pattern.ts'
import fc from '../../helpers/property.ts'

t.test('pattern: matches names and captures parts', async t => {
  const rows: readonly (readonly [pattern: string, name: string, carried: string | undefined])[] = [
    ['cl-*', 'cl-a', '<a>'],
    ['cl-*', 'cl-', undefined],
    ['cl-*', 'xcl-a', undefined],
    ['*', 'anything at all', '<anything at all>'],
    ['a*b*c', 'a1b2c', '<1><2>'],
    ['a*b*c', 'abbbc', '<b><b>'],
    ['*-thinking', 'a-thinking', '<a>'],
    ['*-thinking', 'a-thinking-b', undefined],
    ['v{n:[0-9]{2}}', 'v12', '<12>'],
    ['v{n:[0-9]{2}}', 'v123', undefined],
    ['v{n:[0-9]+}.{m:[0-9]+}', 'v1.2', '<2><1>'],
    ['{x:a|b}c', 'ac', '<a>'],
    ['{x:a|b}c', 'a', undefined],
    ['{x:(?i)ab}c', 'ABc', '<AB>'],
    ['a.c*', 'abc1', undefined],
  ]
  for (const [text, name, expected] of rows) {
    const captures = parsePattern(text).match(name)
    const template = text.startsWith('v{n:[0-9]+}')
      ? '<{m}><{n}>'
      : text.includes('{x')
        ? '<{x}>'
        : text.includes('{n')
          ? '<{n}>'
          : '<*>'.repeat(text.split('*').length - 1)
    t.equal(captures && insertCaptures(template, captures), expected, `${text} and ${name}`)
  }
})

t.test('pattern: a name matches the pattern of its start and end', async () => {
  const text = fc.string({ minLength: 1, unit: fc.constantFrom(...'ab.-_0/$^\\') })
  fc.assert(
    fc.property(text, text, text, (start, middle, end) => {
      const captures = parsePattern(`${start}*${end}`).match(start + middle + end)
      return captures !== undefined && insertCaptures('*', captures) === middle
    }),
  )
})

t.test('pattern: an invalid pattern is refused with a reason', async t => {
  for (const [text, words] of [
    ['a**b', /two adjacent stars/],
    ['a{b', /without a closing brace/],
    ['a}b', /without an opening brace/],
    ['{id}', /as \{name:expression\}/],
    ['{id:}', /as \{name:expression\}/],
    ['{:a}', /as \{name:expression\}/],
    ['{a:x}{a:y}', /same name/],
    ['{a:(x)}', /\(\?:…\)/],
    ['{a:[x}', /missing closing \]/],
    ['{a:(?=x)y}', /\(\?=/],
    ['{a:x)(y}', /parenthes|\)/],
  ] as const)
    t.throws(() => parsePattern(text), words, text)
  t.equal(isPattern('gp-4.1'), false)
  t.ok(['a*', '{a:b}', 'a}'].every(isPattern))
})

t.test('pattern order: more literal characters first, then placeholders before stars', async t => {
  const patterns = ['*', 'cl-*', '{x:.+}', 'cl-*-thinking', 'cl-{id:[a-z]+}', 'cl-a*']
    .map(parsePattern)
    .sort(bySpecificity)
  t.same(
    patterns.map(({ text }) => text),
    ['cl-*-thinking', 'cl-a*', 'cl-{id:[a-z]+}', 'cl-*', '{x:.+}', '*'],
  )
})

t.test('pattern: matches in time linear in the name', async t => {
  t.equal(parsePattern('{x:(?:a+)+}!').match('a'.repeat(5_000)), undefined)
})
