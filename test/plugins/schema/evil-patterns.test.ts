/** Fifty patterns that stall JavaScript's engine: a schema with one must bound its texts, and
 *  validation then takes linear time. */
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { fileValidator } from '../../../plugins/schema/compile.ts'
import { fakeHost } from '../../helpers/gateway/fake-exchange.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'

const LENGTH = shortOrLong(5_000, 1 << 20)
const SHAPES: readonly string[] = [
  '(X+)+',
  '(X*)*',
  '(X|X)*',
  '(X|XX)+',
  '(X|X?)+',
  '(X+|Y)*',
  '(X*Y*)*',
  '(X+X+)+',
  '((X+)+)+',
  '(X{1,9}){1,9}',
]
const PARTS: readonly string[] = ['a', '[a-z]', '\\w', '.', '(?:a|b)']
const patterns = SHAPES.flatMap(shape =>
  PARTS.map(part => `^${shape.replaceAll('X', part).replaceAll('Y', 'b')}$`),
)

const files: Record<string, string> = {}
// One host for all tests: creating a schema compiler takes longer than the rest.
const host = fakeHost({ files })
const validatorOf = (schema: object) => {
  files['it.json'] = JSON.stringify(schema)
  return fileValidator('it.json', host)
}
/** Validates a body. `ms`: processor time. */
const validate = (schema: object, body: object) => {
  const validator = validatorOf(schema)
  const before = process.cpuUsage()
  const fault = validator.validate(body as Json)
  const { user, system } = process.cpuUsage(before)
  return { ms: (user + system) / 1_000, fault }
}
const text = (pattern: string, more: object = {}) => ({
  properties: { a: { type: 'string', pattern, ...more } },
})
const refusal = (schema: object): string => {
  try {
    validatorOf(schema)
    return 'none'
  } catch (error) {
    return String((error as Error).message)
  }
}

t.test(
  `pattern: ${patterns.length} backtracking patterns take linear time`,
  { timeout: 600_000 },
  t => {
    let slowest = 0
    for (const pattern of patterns) {
      const message = refusal(text(pattern))
      const maxLength = Number(/needs `maxLength` of at most (\d+) beside it$/.exec(message)?.[1])
      t.ok(maxLength > 0, `${pattern}: ${message}`)
      const length = Math.min(LENGTH, maxLength - 1)
      const { ms, fault } = validate(text(pattern, { maxLength }), { a: `${'a'.repeat(length)}\n` })
      t.ok(fault, 'the text does not match')
      slowest = Math.max(slowest, ms)
      t.match(refusal(text(pattern, { maxLength: maxLength + 1 })), /needs `maxLength`/)
    }
    t.equal(patterns.length, 50)
    t.comment(`the slowest took ${slowest.toFixed(1)} ms for ${LENGTH} characters or its bound`)
    t.end()
  },
)

t.test('pattern: texts above maxLength are refused before matching', t => {
  const schema = text('^(a+)+$', { maxLength: 10 })
  t.equal(validate(schema, { a: 'a'.repeat(10) }).fault, undefined)
  t.match(validate(schema, { a: '?'.repeat(11) }).fault, { message: /at most 10 characters/ })
  t.end()
})

t.test('pattern: simple patterns need no maxLength', t => {
  const simple = [
    '^[a-z]+$',
    '^\\S{1,256}$',
    '^data:image/(png|jpeg);base64,',
    'needle',
    '^a\\.json$',
  ]
  for (const pattern of simple) {
    t.equal(refusal(text(pattern)), 'none', pattern)
    const { ms } = validate(text(pattern), { a: `${'a'.repeat(LENGTH)}\n` })
    t.comment(`${pattern}: ${ms.toFixed(1)} ms`)
  }
  for (const pattern of [
    '[a-z]+$',
    '^a*b*$',
    '^(a|b)*$',
    '^a*aaaaaaaaaaaaaaaaab$',
    '^a|b*$',
    '^a\\$',
  ])
    t.match(refusal(text(pattern)), /needs `maxLength`/, pattern)
  t.end()
})

t.test('schema bounds: apply to names, lists and nested schemas', t => {
  const evil = '^(a+)+$'
  const names = { patternProperties: { [evil]: { type: 'string' } } }
  t.match(refusal(names), /of names at the top .* of at most \d+ in `propertyNames`$/)
  t.equal(refusal({ ...names, propertyNames: { maxLength: 64 } }), 'none')
  for (const schema of [
    { anyOf: [{ type: 'object' }, { items: { pattern: evil, type: 'string' } }] },
    { properties: { enum: { type: 'string', pattern: evil } } },
    { $defs: { x: { propertyNames: { pattern: evil } } } },
  ])
    t.match(refusal(schema), /needs `maxLength`/, JSON.stringify(schema))
  const harmless = { properties: { pattern: { enum: [{ pattern: evil }] }, b: { const: evil } } }
  t.equal(refusal(harmless), 'none', 'a constant value is not a pattern')
  const list = (more: object) => ({
    properties: { a: { type: 'array', uniqueItems: true, ...more } },
  })
  t.match(refusal(list({})), /`uniqueItems` at \/properties\/a .* `maxItems` of at most 256/)
  t.match(refusal(list({ maxItems: 257 })), /uniqueItems/)
  t.match(refusal(list({ items: { type: ['string', 'object'] } })), /uniqueItems/)
  for (const more of [{ maxItems: 256 }, { items: { type: ['string', 'null'] } }])
    t.equal(refusal(list(more)), 'none')
  t.end()
})

t.test('pattern: both engines agree with JavaScript', t => {
  const subjects = ['', 'a', 'ab', 'a\n', 'ä', '😀', '-', 'abc-1', 'A', 'a.json', 'ab\u0000', '١']
  const all = [
    '^[a-z]+$',
    '^[^a]*$',
    '^.$',
    '^\\p{L}$',
    '^\\u0061b?$',
    '^(?:a|ab|-)$',
    '^\\w{2,}$',
    'b',
  ]
  for (const pattern of [...all, '(?:a|b)$', '^(?:[a-z]+-?)+1?$', '^(a+)+$'])
    for (const a of subjects) {
      const { fault } = validate(text(pattern, { maxLength: 99 }), { a })
      t.equal(
        fault === undefined,
        new RegExp(pattern, 'u').test(a),
        `${pattern} of ${JSON.stringify(a)}`,
      )
    }
  t.end()
})

/** Bodies of about `bytes` bytes: one long text, many members, many messages. */
const widest = (bytes: number): readonly object[] => [
  { model: 'm', name: 'a'.repeat(bytes), messages: [{ role: 'user', content: 'a'.repeat(bytes) }] },
  Object.fromEntries(
    Array.from({ length: 9_999 }, (_, n) => [`${n}${'k'.repeat(bytes / 10_000)}`, n]),
  ),
  {
    model: 'm',
    max_tokens: 1,
    messages: Array.from({ length: bytes / 32 }, () => ({ role: 'user', content: 'a' })),
  },
  { model: 'm', input: Array.from({ length: bytes / 32 }, () => ({ role: 'user', content: 'a' })) },
  {
    contents: Array.from({ length: bytes / 40 }, () => ({ role: 'user', parts: [{ text: 'a' }] })),
  },
]

t.test('schema bounds: the shipped schemas bound all texts and lists', t => {
  const folder = new URL('../../../schemas/', import.meta.url)
  const names = readdirSync(folder, { recursive: true }).map(String)
  const bodies = names.filter(name => /\.json$/.test(name) && !/^(engine|routes)\.json$/.test(name))
  t.ok(bodies.length >= 7)
  for (const name of bodies) {
    const schema = JSON.parse(readFileSync(new URL(name, folder), 'utf8'))
    t.equal(refusal(schema), 'none', name)
    let slowest = 0
    for (const body of widest(LENGTH)) slowest = Math.max(slowest, validate(schema, body).ms)
    t.comment(`${name}: ${slowest.toFixed(1)} ms for ${LENGTH} bytes`)
  }
  t.end()
})
