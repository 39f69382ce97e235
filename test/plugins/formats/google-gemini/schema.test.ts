/** JSON Schema for models that accept only Google's subset of OpenAPI (edge 22). */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import { convertToOpenApi } from '../../../../plugins/formats/google-gemini/schema.ts'

const convert = (schema: Json): Json => convertToOpenApi(schema, () => {})
const droppedKeywords = (schema: Json): readonly string[] => {
  const dropped: string[] = []
  convertToOpenApi(schema, word => dropped.push(word))
  return dropped
}
const TABLE: readonly (readonly [what: string, given: Json, written: Json])[] = [
  [
    'keywords without effect',
    { $schema: 'x', $id: 'y', type: 'object', additionalProperties: false },
    { type: 'OBJECT' },
  ],
  ['types may be many', { type: ['string', 'null'] }, { type: 'STRING', nullable: true }],
  [
    'and not only null',
    { type: ['string', 'integer'] },
    { anyOf: [{ type: 'STRING' }, { type: 'INTEGER' }] },
  ],
  [
    'required properties that are not defined',
    {
      type: 'object',
      properties: { a: { type: 'object', required: ['c'] } },
      required: ['a', 'b'],
    },
    { type: 'OBJECT', properties: { a: { type: 'OBJECT' } }, required: ['a'] },
  ],
  [
    'required properties that another part of allOf defines',
    { allOf: [{ type: 'object', properties: { a: { type: 'string' } } }, { required: ['a'] }] },
    { type: 'OBJECT', properties: { a: { type: 'STRING' } }, required: ['a'] },
  ],
  [
    'branches that only require properties',
    { type: 'object', properties: { a: {} }, oneOf: [{ required: ['a'] }, { required: ['b'] }] },
    { type: 'OBJECT', properties: { a: { type: 'STRING' } } },
  ],
  ['a constant', { const: 'a' }, { type: 'STRING', enum: ['a'] }],
  [
    'texts to choose from',
    { enum: ['a', 'b', null] },
    { type: 'STRING', enum: ['a', 'b'], nullable: true },
  ],
  [
    'numbers to choose from keep their type',
    { type: 'integer', enum: [1, 2], description: 'd' },
    { type: 'INTEGER', description: 'd One of: 1, 2.' },
  ],
  ['a number that is constant', { const: 7 }, { type: 'NUMBER', description: 'One of: 7.' }],
  [
    'exclusive bounds of integers',
    { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 9 },
    { type: 'INTEGER', minimum: 1, maximum: 8 },
  ],
  ['and of numbers', { type: 'number', exclusiveMinimum: 0 }, { type: 'NUMBER', minimum: 0 }],
  [
    'formats it knows',
    { type: 'string', format: 'date-time' },
    { type: 'STRING', format: 'date-time' },
  ],
  [
    'formats it does not',
    { type: 'string', format: 'email' },
    { type: 'STRING', description: 'Format: email.' },
  ],
  [
    'one of, or nothing',
    { oneOf: [{ type: 'string' }, { type: 'null' }] },
    { type: 'STRING', nullable: true },
  ],
  [
    'all of',
    {
      allOf: [
        { properties: { a: { type: 'string' } }, required: ['a'] },
        { properties: { b: {} }, required: ['b', 'c'] },
      ],
    },
    {
      type: 'OBJECT',
      properties: { a: { type: 'STRING' }, b: { type: 'STRING' } },
      required: ['a', 'b'],
    },
  ],
  [
    'references',
    {
      $defs: { x: { type: 'string' } },
      type: 'object',
      properties: { a: { $ref: '#/$defs/x', description: 'd' } },
    },
    { type: 'OBJECT', properties: { a: { type: 'STRING', description: 'd' } } },
  ],
  [
    'lists of nothing in particular',
    { type: 'array' },
    { type: 'ARRAY', items: { type: 'STRING' } },
  ],
  [
    'what is required must be there',
    { type: 'object', properties: {}, required: ['a'] },
    { type: 'OBJECT', properties: {} },
  ],
  [
    'a property by any name',
    { properties: { $ref: { type: 'string' }, const: {} } },
    { type: 'OBJECT', properties: { $ref: { type: 'STRING' }, const: { type: 'STRING' } } },
  ],
  ['no schema at all', true, { type: 'STRING' }],
]
for (const [what, input, expected] of TABLE)
  t.test(what, t => {
    t.same(convert(input), expected)
    t.end()
  })

t.test('Gemini schema: reports constraining keywords that are dropped (edge 22)', t => {
  t.same(
    droppedKeywords({
      type: 'object',
      propertyNames: {},
      patternProperties: {},
      not: {},
      if: {},
      $comment: 'x',
    }),
    ['propertyNames', 'patternProperties', 'not', 'if'],
  )
  t.end()
})
t.test('Gemini schema: ends recursive references and bounds nested ones', t => {
  const tree = {
    $ref: '#/$defs/n',
    $defs: { n: { type: 'object', properties: { n: { $ref: '#/$defs/n' } } } },
  }
  t.same(convert(tree), { type: 'OBJECT', properties: { n: { type: 'OBJECT' } } })
  t.same(droppedKeywords(tree), ['$ref'])
  const $defs: { [name: string]: Json } = { d0: { type: 'string' } }
  for (let level = 1; level < 40; level++) {
    const $ref = `#/$defs/d${level - 1}`
    $defs[`d${level}`] = { type: 'object', properties: { a: { $ref }, b: { $ref } } }
  }
  t.ok(JSON.stringify(convert({ $ref: '#/$defs/d39', $defs })).length < 2_000_000)
  t.end()
})
