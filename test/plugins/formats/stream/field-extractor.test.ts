/** The field extractor finds a member of JSON without parsing it: for any text and any chunk
 *  boundaries, and only at the top level. */
import t from 'tap'
import { replaceModel } from '../../../../plugins/formats/json/model-name.ts'
import { FieldExtractor } from '../../../../plugins/formats/stream/field-extractor.ts'
import { recordings } from '../../../helpers/formats/recordings.ts'
import fc from '../../../helpers/property.ts'

const find = (text: string | Buffer, key: string, sizes: readonly number[] = []) => {
  const bytes = Buffer.from(text)
  const extractor = new FieldExtractor(Buffer.from(key))
  let at = 0
  for (const size of sizes) {
    extractor.push(bytes.subarray(at, at + size))
    at += size
  }
  extractor.push(bytes.subarray(at))
  const { span, value } = extractor
  if (span) t.equal(bytes.subarray(span.start, span.end).compare(value ?? Buffer.alloc(0)), 0)
  return value === undefined ? undefined : JSON.parse(Buffer.from(value).toString())
}

t.test('field extractor: matches only members of the outermost object', async t => {
  for (const [text, expected] of [
    ['{"usage":{"a":1}}', { a: 1 }],
    [' \n{ "x" : 1 , "usage" : { "a" : [ 1 , { } ] } , "y" : 2 } ', { a: [1, {}] }],
    ['{"usage":"text"}', 'text'],
    ['{"usage":12,"x":1}', 12],
    ['{"usage":null}', null],
    ['{"x":{"usage":{"a":1}}}', undefined],
    ['{"x":[{"usage":{"a":1}}]}', undefined],
    ['{"x":"\\"usage\\":{\\"a\\":1}"}', undefined],
    ['{"x\\"usage":{"a":1}}', undefined],
    ['{"\\"usage":{"a":1}}', undefined],
    ['{"usage2":{"a":1},"usag":{"a":2}}', undefined],
    ['{"us\\u0061ge":{"a":1}}', undefined],
    ['{"x":"usage","y":{"a":1}}', undefined],
    ['{"x":"}","usage":{"a":"}]\\\\"}}', { a: '}]\\' }],
    ['{"usage":{"a":1},"usage":{"a":2}}', { a: 2 }],
    ['[{"usage":{"a":1}},{"usage":{"a":2},"x":{"usage":{"a":3}}}]', { a: 2 }],
    ['"usage"', undefined],
    ['', undefined],
    ['{', undefined],
    ['}}}{"usage":', undefined],
  ] as const)
    t.same(find(text, 'usage'), expected, text)
})

t.test('field extractor: is whole after one object or array, in any chunks', async t => {
  const isWhole = (text: string, size: number) => {
    const extractor = new FieldExtractor(Buffer.from('usage'))
    for (let at = 0; at < text.length; at += size)
      extractor.push(Buffer.from(text.slice(at, at + size)))
    return extractor.isWhole
  }
  for (const size of [1, 2, 3, 100]) {
    for (const text of ['{}', ' [ {} ]\r\n', '{"usage":{"a":[1,"}"]}}', '[]', '{"a":true,"b":-1}'])
      t.ok(isWhole(text, size), text)
    for (const text of [
      '',
      '{',
      '[{}',
      '{"a":"}',
      '{}{}',
      '{}[]',
      '}{',
      'x{}',
      '{}x',
      '<a>{}',
      '"a"',
    ])
      t.notOk(isWhole(text, size), text)
  }
})

t.test('field extractor: equals JSON.parse for any JSON in any chunks', async () => {
  const key = fc.constantFrom('usage', 'usage', 'x', 'us"age', 'usage\\', '')
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('"usage":{', '\\', '\\\\"'),
  )
  const value = fc.letrec(tie => ({
    any: fc.oneof(
      { maxDepth: 3 },
      text,
      fc.integer(),
      fc.constant(null),
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(key, tie('any'), { maxKeys: 3, noNullPrototype: true }),
    ),
  })).any
  const document = fc.dictionary(key, value, { maxKeys: 4, noNullPrototype: true })
  const space = fc.constantFrom(undefined, 1, '\t')
  fc.assert(
    fc.property(document, space, fc.array(fc.integer({ min: 1, max: 40 })), (input, gap, sizes) => {
      const json = JSON.stringify(input, null, gap)
      const matches = find(json, 'usage', sizes)
      const expected = 'usage' in input ? input.usage : undefined
      return JSON.stringify(matches) === JSON.stringify(expected)
    }),
    { numRuns: 2_000 },
  )
})

t.test('field extractor: reads one byte at a time', async t => {
  const text = '{"a":"\\\\\\"","usage":{"n":"\\u00e9\\""},"z":[]}'
  t.same(
    find(
      text,
      'usage',
      Array.from({ length: text.length }, () => 1),
    ),
    { n: 'é"' },
  )
})

t.test('field extractor: discards a value above the size limit in any chunks', async t => {
  const text = `{"usage":{"a":"${'x'.repeat(200_000)}"},"z":1}`
  t.equal(find(text, 'usage', [1_000, 100_000]), undefined)
})

t.test('model rename: replaces only the value of the top-level model', async t => {
  const rename = (text: string, name = 'new'): string =>
    Buffer.from(replaceModel(Buffer.from(text), name)).toString()
  t.equal(rename('{"model":"old","x":1.0}'), '{"model":"new","x":1.0}')
  t.equal(
    rename('{"messages":[{"model":"a"}],"model":"old"}'),
    '{"messages":[{"model":"a"}],"model":"new"}',
  )
  t.equal(rename('{\n  "model" : "old" ,\n  "ü":1e3}'), '{\n  "model" : "new",\n  "ü":1e3}')
  t.equal(rename('{"model":"old"}', 'a"b\\c\u2028'), `{"model":${JSON.stringify('a"b\\c\u2028')}}`)
  t.equal(rename('{"mod\\u0065l":"old","x":1}'), '{"model":"new","x":1}', 'a key with escapes')
})

t.test('model rename: finds the model at either end of a long body, and between them', async t => {
  const long = JSON.stringify([{ role: 'user', content: 'say "model": "old" é漢 '.repeat(200) }])
  const renames = (text: string): void => {
    const renamed = Buffer.from(replaceModel(Buffer.from(text), 'new')).toString()
    t.same(JSON.parse(renamed), { ...JSON.parse(text), model: 'new' }, text.slice(-80))
    t.equal(renamed.replace(/\s/g, '').length, text.replace(/\s/g, '').length, 'nothing else')
  }
  const inner = '"model":"no"'
  for (const text of [
    `{"model":"old","messages":${long}}`,
    `{"messages":${long},"model":"old","tools":${long}}`,
    `{"messages":${long},"model":"old"}`,
    `{"messages":${long} , "model" : "old" , "stream":true,"top_p":-1.5e-3,"user":"ü" }\n`,
    `{"messages":${long},"model":"old","x":{${inner}}}`,
    `{"messages":${long},"model":"old","x":[{${inner}}]}`,
    `{"messages":${long},"model":"old","x":"\\"model\\":1"}`,
    `{"messages":${long},"model":"old","stop":["model"]}`,
    `{"messages":${long},"model":"old","stop":"model"}`,
    `{"model":"old","messages":${long},"x":{${inner}}}`,
    `{"model":"old","messages":${long},"x":{"y":1,${inner}}}`,
    `{"x":{"y":${long},${inner}},"model":"old"}`,
  ])
    renames(text)
})

const recorded = recordings()
t.test(
  'field extractor: reads recorded answers in chunks of every size',
  { skip: recorded === undefined && 'RECORDINGS is not set' },
  async t => {
    let comparisons = 0
    for (const { id, format, stream, response_body } of recorded ?? []) {
      if (stream || !/^(chat|responses|messages|gemini)/.test(format)) continue
      const key = format.startsWith('gemini') ? 'usageMetadata' : 'usage'
      const expected = JSON.parse(response_body)[key]
      for (const size of [1, 7, 1_000]) {
        const extractor = new FieldExtractor(Buffer.from(key))
        const bytes = Buffer.from(response_body)
        for (let at = 0; at < Math.min(bytes.length, 300_000); at += size)
          extractor.push(bytes.subarray(at, at + size))
        const matches = extractor.value && JSON.parse(Buffer.from(extractor.value).toString())
        comparisons++
        if (JSON.stringify(matches) !== JSON.stringify(expected))
          t.fail(`${id} in pieces of ${size}`)
      }
    }
    t.ok(comparisons > 600, `${comparisons} comparisons`)
  },
)
