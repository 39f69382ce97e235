/** JSON bodies: limits of depth and keys, duplicate keys, and the message of each refusal. */
import t from 'tap'
import { parseJson } from '../../../../engine/request/json.ts'

const parse = (text: string): unknown => parseJson(Buffer.from(text))
const refusal = (body: string | Uint8Array): { code: string; message: string } => {
  try {
    parseJson(Buffer.from(body as string))
  } catch (error) {
    return error as { code: string; message: string }
  }
  return { code: 'none', message: 'it was accepted' }
}
const nest = (open: string, close: string, levels: number): string =>
  open.repeat(levels) + (open === '[' ? '' : '1') + close.repeat(levels)
/** An object of these keys, each with the value 1. */
const objectOf = (keys: readonly string[]): string => `{${keys.map(key => `"${key}":1`).join()}}`
const numberKeys = (count: number): string[] => Array.from({ length: count }, (_, n) => `key${n}`)

t.test('JSON: valid values are parsed', async t => {
  for (const text of ['{}', '[]', '"a"', '0', 'null', ' { "a" : [ 1 , { "b" : null } ] } '])
    t.same(parse(text), JSON.parse(text), text)
  const part = Buffer.from('xx{"a":1}yy').subarray(2, 9)
  t.same(parseJson(part), { a: 1 }, 'a view into a larger buffer')
})

t.test('JSON: 64 levels are parsed, 65 are refused', async t => {
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    t.ok(parse(nest(open, close, 64)))
    t.match(refusal(nest(open, close, 65)), { code: 'BODY_TOO_DEEP', status: 400 })
  }
  t.match(refusal('['.repeat(1_000_000)), { code: 'BODY_TOO_DEEP' }, 'also a million levels')
  t.ok(parse(`[${'[],'.repeat(100)}[]]`), 'siblings are not levels')
  t.ok(parse(`["${'['.repeat(100)}"]`), 'brackets in a string are not levels')
})

t.test('JSON: the number of keys is limited, per object and in all', async t => {
  t.ok(parse(objectOf(numberKeys(10_000))))
  t.match(refusal(objectOf(numberKeys(10_001))), {
    code: 'BODY_TOO_MANY_KEYS',
    message: 'The JSON body has more than 10000 keys in one object.',
  })
  const four = objectOf(['a', 'b', 'c', 'd'])
  const limits = { depth: 9, keysPerObject: 4, keys: 8 }
  t.ok(parseJson(Buffer.from(`[${four},${four}]`), limits))
  t.throws(() => parseJson(Buffer.from(`[${four},${four},{"e":1}]`), limits), {
    code: 'BODY_TOO_MANY_KEYS',
    message: 'The JSON body has more than 8 keys in all.',
  })
})

t.test('JSON: a duplicate key is refused, with any escapes', async t => {
  const twice: Readonly<Record<string, string>> = {
    plain: '{"a":1,"a":2}',
    'with another between': '{"a":1,"b":{"c":[1,2]},"a":2}',
    'inside of an array': '[{"a":1},{"a":1,"a":2}]',
    'behind an object with the same key': '{"x":{"a":1},"a":1,"a":2}',
    'behind an array': '{"a":[1,{"a":1}],"a":2}',
    'by an escape': '{"a":1,"\\u0061":2}',
    'both by escapes': '{"\\u0061\\n":1,"a\\u000a":2}',
    'beyond ASCII': '{"é":1,"\\u00e9":2}',
    'with a quote in it': '{"a\\"b":1,"a\\u0022b":2}',
    'with a backslash at its end': '{"a\\\\":1,"a\\u005c":2}',
    empty: '{"":1,"":2}',
    long: `{"${'k'.repeat(100)}":1,"${'k'.repeat(100)}":2}`,
    'long, by an escape far behind': `{"${'k'.repeat(100)}":1,"${'k'.repeat(99)}\\u006b":2}`,
    'long, by an escape early on': `{"${'k'.repeat(100)}":1,"\\u006b${'k'.repeat(99)}":2}`,
    'across many others': objectOf([...numberKeys(24), 'key0']),
    'the 26th': objectOf([...numberKeys(25), 'key24']),
    'among thousands': objectOf([...numberKeys(5_000), 'key2500']),
    'among thousands, by an escape': objectOf([...numberKeys(5_000), 'key\\u0032500']),
  }
  for (const [how, text] of Object.entries(twice))
    t.match(refusal(text), { code: 'BODY_DUPLICATE_KEY', status: 400 }, how)
  t.equal(
    refusal('{"a\\u0020b":1,"a b":2}').message,
    'The JSON body has the key "a b" twice in one object.',
  )
  t.equal(refusal(twice.long ?? '').message.length, 113, 'a long key is not quoted in whole')
})

t.test('JSON: keys that only look alike are different', async t => {
  for (const text of [
    '{"a":1,"A":2,"a ":3,"":4}',
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":1}]',
    '{"a":"a","b":"a"}',
    '{"\\\\u0061":1,"a":2}',
    // These two have one hash (FNV-1a).
    '{"costarring":1,"liquid":2}',
    objectOf([...numberKeys(30), 'costarring', 'liquid']),
  ])
    t.same(parse(text), JSON.parse(text), text.slice(0, 40))
})

t.test('JSON: keys that change prototypes are refused', async t => {
  for (const key of ['__proto__', 'constructor', '__pr\\u006fto__', '\\u0063onstructor'])
    t.match(refusal(`{"x":[{"${key}":{"admin":true}}]}`), { code: 'BODY_FORBIDDEN_KEY' }, key)
  t.equal(
    refusal('{"\\u005f_proto__":1}').message,
    'The JSON body has the key "__proto__", which is not accepted.',
  )
  t.match(
    refusal(objectOf([...numberKeys(40), '__proto__'])),
    { code: 'BODY_FORBIDDEN_KEY' },
    'also among many',
  )
  t.same(parse('{"a":"__proto__","__proto":1,"constructors":2}'), {
    a: '__proto__',
    __proto: 1,
    constructors: 2,
  })
})

t.test('JSON: structure within strings is ignored', async t => {
  const pads = [0, 1, 28, 29, 30, 31, 32, 33, 34, 63, 64, 65, 500]
  const contents = [
    '',
    '\\"',
    '\\\\',
    '\\\\\\"',
    '{\\"a\\":1,\\"a\\":2}',
    '[[[',
    '\\u0022',
    '","a":1,"',
  ]
  for (const pad of pads)
    for (const content of contents) {
      if (content.startsWith('"')) continue
      const text = `{"v":"${'x'.repeat(pad)}${content}","w":"${content}${'y'.repeat(pad)}"}`
      t.same(parse(text), JSON.parse(text), `${pad} ${content}`)
    }
  for (const pad of pads)
    for (const content of contents)
      if (!content.startsWith('"'))
        t.match(
          refusal(`{"v":"${'x'.repeat(pad)}${content}","v":1}`),
          { code: 'BODY_DUPLICATE_KEY' },
          `keys behind them are checked: ${pad} ${content}`,
        )
})

t.test('JSON: a refusal has the reason and the position, and not the input', async t => {
  const wrong: Readonly<Record<string, string>> = {
    '{"a":1': "Expected ',' or '}' after property value at position 6",
    '{"a":secret}': "Unexpected token 's'",
    '{"a" "b"}': "Expected ':' after property name at position 5",
    '["a","b"': "Expected ',' or ']' after array element at position 8",
    '{a:1}': "Expected property name or '}' at position 1",
    '{"a":1}}': 'Unexpected non-whitespace character after JSON at position 7',
    '"open': 'Unterminated string at position 5',
    ' ': 'Unexpected end of JSON input',
  }
  for (const [text, message] of Object.entries(wrong)) {
    const { code, message: actual } = refusal(text)
    t.equal(code, 'BODY_NOT_JSON', text)
    t.ok(actual.startsWith(`The request body is not valid JSON: ${message}`), actual)
    t.notMatch(actual, /secret/)
  }
  for (const text of [
    '{"\\q":1}',
    '{"a\\u00":1}',
    `{"${'k'.repeat(50)}\\x":1}`,
    `"${'x'.repeat(99)}`,
    ']',
    '}',
    '{"a\\',
  ])
    t.equal(refusal(text).code, 'BODY_NOT_JSON', text)
})

t.test('JSON: an empty body and invalid UTF-8 have faults of their own', async t => {
  t.match(refusal(''), { code: 'BODY_EMPTY', status: 400 })
  for (const bytes of [
    [0xff],
    [0x22, 0xc0, 0xaf, 0x22],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
    [0x22, 0xc3, 0x22],
  ])
    t.match(refusal(Uint8Array.from(bytes)), { code: 'BODY_NOT_UTF8', status: 400 })
  t.equal(refusal('\ufeff{}').code, 'BODY_NOT_JSON', 'a byte order mark is not JSON')
})
