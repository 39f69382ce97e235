/** Names with holes: what fits, what is carried over, which comes first, and what is no pattern at all. */

import t from 'tap'
import { bySpecificity } from '../../../plugins/catalogue/catalogue.ts'
import { carry, isPattern, parsePattern } from '../../../plugins/catalogue/pattern.ts'
import fc from '../../helpers/property.ts'

t.test('what fits and what it fills', async t => {
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
  for (const [text, name, carried] of rows) {
    const fill = parsePattern(text).match(name)
    const template = text.startsWith('v{n:[0-9]+}')
      ? '<{m}><{n}>'
      : text.includes('{x')
        ? '<{x}>'
        : text.includes('{n')
          ? '<{n}>'
          : '<*>'.repeat(text.split('*').length - 1)
    t.equal(fill && carry(template, fill), carried, `${text} and ${name}`)
  }
})

t.test('any name fits the pattern of its beginning and end', async () => {
  const text = fc.string({ minLength: 1, unit: fc.constantFrom(...'ab.-_0/$^\\') })
  fc.assert(
    fc.property(text, text, text, (start, middle, end) => {
      const fill = parsePattern(`${start}*${end}`).match(start + middle + end)
      return fill !== undefined && carry('*', fill) === middle
    }),
  )
})

t.test('what is no pattern', async t => {
  for (const [text, words] of [
    ['a**b', /two stars side by side/],
    ['a{b', /never closes/],
    ['a}b', /never opened/],
    ['{id}', /written \{name:expression\}/],
    ['{id:}', /written \{name:expression\}/],
    ['{:a}', /written \{name:expression\}/],
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

t.test('more letters first, then holes before stars', async t => {
  const sorted = ['*', 'cl-*', '{x:.+}', 'cl-*-thinking', 'cl-{id:[a-z]+}', 'cl-a*']
    .map(parsePattern)
    .sort(bySpecificity)
  t.same(
    sorted.map(({ text }) => text),
    ['cl-*-thinking', 'cl-a*', 'cl-{id:[a-z]+}', 'cl-*', '{x:.+}', '*'],
  )
})

t.test('an evil pattern takes time in the length of the name only', async t => {
  t.equal(parsePattern('{x:(?:a+)+}!').match('a'.repeat(5_000)), undefined)
})
