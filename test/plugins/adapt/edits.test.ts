/** Edits of JSON bodies: the result is that of parsed values, and other bytes stay unchanged. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { type BodyEdits, compileEdits, editBody } from '../../../plugins/conversion/body-edits.ts'
import { membersIn } from '../../../plugins/conversion/body-members.ts'
import fc from '../../helpers/property.ts'

const edit = (text: string, edits: BodyEdits): string => {
  const bytes = Buffer.from(text)
  const [members, compiledEdits] = [membersIn(bytes), compileEdits(edits)]
  if (!members || !compiledEdits) return text
  return Buffer.from(editBody(bytes, members, compiledEdits)).toString()
}

t.test('body edits: rename, drop and set change only their members', async t => {
  const rename = { max_completion_tokens: 'max_tokens' }
  const rows: readonly (readonly [string, BodyEdits, string])[] = [
    ['{"a":1.0, "b" : [ 1 ] ,"c":"x"}', { drop: ['b'] }, '{"a":1.0,"c":"x"}'],
    ['{"a":1.0, "b" : [ 1 ]}', { drop: ['z'] }, '{"a":1.0, "b" : [ 1 ]}'],
    ['{"store":true}', { drop: ['store'] }, '{}'],
    ['{ }', { set: { a: 1 } }, '{"a":1}'],
    ['{"a":1, "x" : 2}', { set: { x: [null] } }, '{"a":1,"x":[null]}'],
    [
      '{"n" : 9007199254740993,"d":{"store":1}}',
      { drop: ['store'] },
      '{"n" : 9007199254740993,"d":{"store":1}}',
    ],
    ['{"max_completion_tokens": 5,"b":2}', { rename }, '{"max_tokens":5,"b":2}'],
    ['{"max_tokens":900,"b":2,"max_completion_tokens":5}', { rename }, '{"b":2,"max_tokens":5}'],
    [
      '{"max_completion_tokens":5,"b":2}',
      { rename, set: { max_tokens: 7 } },
      '{"b":2,"max_tokens":7}',
    ],
    [
      '{"max_completion_tokens":5}',
      { rename: { max_completion_tokens: 'max_completion_tokens' } },
      '{"max_completion_tokens":5}',
    ],
    ['{"st\\u006fre":1,"b":"}\\\\\\",{"}', { drop: ['store'] }, '{"b":"}\\\\\\",{"}'],
    ['{"store":1,"b":2,"store":3}', { drop: ['store'] }, '{"b":2}'],
  ]
  for (const [text, edits, expected] of rows) t.equal(edit(text, edits), expected, text)
})

t.test('body edits: bytes that are not a JSON object stay unchanged', async t => {
  for (const text of [
    '',
    '[1]',
    '"a"',
    '{',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":"x',
    '{"a":[1}',
    '{a:1}',
    '{"a":1,}',
    '{"a" 1}',
    '{"\\x":1}',
    '{"a":,"b":1}',
  ])
    t.equal(edit(text, { drop: ['a'], set: { z: 1 } }), text)
})

t.test('body edits: any object is edited as its parsed value would be', async t => {
  // No key is a backslash: V8 may read it where another object has an escaped quote.
  const key: fc.Arbitrary<string> = fc.constantFrom('a', 'b', 'c', 'max', '"', 'é')
  const object = fc.dictionary(key, fc.jsonValue(), { noNullPrototype: true })
  fc.assert(
    fc.property(
      object,
      fc.boolean(),
      fc.array(key),
      fc.dictionary(key, fc.integer(), { noNullPrototype: true }),
      (value, spaced, drop, set) => {
        const text = JSON.stringify(value, null, spaced ? 2 : 0)
        const expected: Record<string, Json> = Object.fromEntries(
          Object.entries(JSON.parse(text) as Record<string, Json>).filter(
            ([name]) => !drop.includes(name),
          ),
        )
        t.strictSame(JSON.parse(edit(text, { drop, set })), { ...expected, ...set })
      },
    ),
  )
})
