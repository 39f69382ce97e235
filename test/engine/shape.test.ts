/** Shapes: what their readers make of valid values, and the schemas that they give. */
import t from 'tap'
import {
  annotate,
  anyOf,
  constant,
  duration,
  flag,
  integer,
  json,
  list,
  map,
  object,
  ofTypes,
  oneOf,
  oneOrMore,
  orElse,
  rate,
  reading,
  required,
  size,
  text,
  type ValueOf,
} from '../../engine/config/shape.ts'

const TASKS = object(
  'Tasks.',
  {
    id: required(text('Its name.', { examples: ['a'] })),
    keep: duration('How long.', { default: '30d', examples: ['30d'] }),
    wait: duration('How long.', { examples: ['1s'] }),
    copies: flag('Copies.', { default: false, examples: [true] }),
    limits: orElse(
      object('Limits.', {
        body: size('Bytes.', { default: '1KiB' }),
        count: integer('Count.', { minimum: 1, default: 0 }),
      }),
      {},
    ),
    late: list('Times.', duration('A time.', { examples: ['1h'] }), { default: ['5m', '1h'] }),
    rates: map('Rates by model.', rate('A rate.', { examples: ['1/s'] }), { examples: [{}] }),
  },
  { examples: [{ id: 'a' }] },
)

t.test('shape of an object: reads defaults, and leaves out what has none', async t => {
  const value: ValueOf<typeof TASKS> = TASKS.read({ id: 'a' })
  t.same(value, {
    id: 'a',
    keep: 2_592_000_000,
    copies: false,
    limits: { body: 1024, count: 0 },
    late: [300_000, 3_600_000],
  })
  t.notOk('wait' in value)
})

t.test('shape of an object: reads durations, sizes and rates that are there', async t => {
  const value = TASKS.read({
    id: 'a',
    keep: '90m',
    limits: { body: '7B' },
    rates: { m: '60/min', n: '5/h' },
  })
  t.equal(value.keep, 5_400_000)
  t.same(value.limits, { body: 7, count: 0 })
  t.same(value.rates?.m, { amount: 60n, per: 'min', ms: 60_000 })
  t.same(value.rates?.n, { amount: 5n, per: 'h', ms: 3_600_000 })
})

t.test(
  'shape of an object: the schema requires what must be there, and refuses the rest',
  async t => {
    const { type, required: names, additionalProperties, properties, examples } = TASKS.schema
    t.same(
      { type, names, additionalProperties },
      { type: 'object', names: ['id'], additionalProperties: false },
    )
    t.same(examples, [{ id: 'a' }])
    t.same((properties as Record<string, unknown>).keep, {
      description: 'How long.',
      type: 'string',
      pattern: '^([1-9][0-9]{0,4})(ms|s|m|h|d)$',
      default: '30d',
      examples: ['30d'],
    })
  },
)

t.test('shape of alternatives: the one of the kind of value reads it', async t => {
  const shape = anyOf('A time, off, or by member.', [
    oneOf('Off.', ['off']),
    duration('A time.'),
    map('By member.', duration('A time.')),
    list('Numbers.', integer('A number.')),
  ])
  t.equal(shape.read('off'), 'off')
  t.equal(shape.read('2s'), 2_000)
  t.same(shape.read({ a: '1m' }), { a: 60_000 })
  t.same(shape.read([1]), [1])
})

t.test('shape of alternatives: of several objects the one with these members reads it', async t => {
  const shape = anyOf('On, a time, or one of two objects.', [
    oneOf('On.', [true]),
    constant('All.', '*'),
    object('By key.', { key: required(duration('A time.')) }),
    object('By name.', { name: required(text('A name.')) }),
    ofTypes('A number or a text.', ['integer', 'string'], { minimum: 1 }),
  ])
  const values = [true, '*', 5, 'a', { name: '1s' }]
  for (const each of values) t.same(shape.read(each as never), each)
  t.same(shape.read({ key: '1s' }), { key: 1_000 })
})

t.test('shape of alternatives: words with a type may be more than the shape knows', async t => {
  const format = oneOf('A format.', ['a', 'b'], { type: 'string' })
  const known = reading(format, name => ({ name }))
  const shape = anyOf('A format.', [known, object('More.', { name: required(format) })])
  for (const name of ['a', 'other']) t.same(shape.read(name as 'a'), { name })
  t.same(shape.read({ name: 'b' }), { name: 'b' })
})

t.test('shape of one or more: reads a list, and its schema checks both', async t => {
  const word = text('A word.', { minLength: 1, examples: ['a'] })
  const counted = object('Counted.', { word: required(word), wait: duration('A time.') })
  const shape = oneOrMore('Words.', word, { minItems: 1 }, anyOf('A word.', [word, counted]))
  t.same(shape.read('a'), ['a'])
  t.same(shape.read(['a', { word: 'b', wait: '1s' }]), ['a', { word: 'b', wait: 1_000 }])
  const { items, ...schema } = shape.schema
  const checks = { type: ['string', 'array'], minLength: 1, minItems: 1 }
  t.same(schema, { description: 'Words.', ...checks })
  t.ok(items)
})

t.test('shape with other keywords: reads the same', async t => {
  const shape = annotate(json('Anything.', { type: 'object', default: {} }), {
    description: 'More.',
  })
  t.same(shape.schema, { description: 'More.', type: 'object', default: {} })
  t.same(object('All.', { shape }).read({}), { shape: {} })
})
