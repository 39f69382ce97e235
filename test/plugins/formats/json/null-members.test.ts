/** Null members are cut out of the bytes of a request, and nothing else changes. */
import t from 'tap'
import { nullFacts, withoutNulls } from '../../../../plugins/formats/json/null-members.ts'

const FACTS = nullFacts('passed', 'data')
const cut = (text: string, facts = FACTS): string =>
  Buffer.from(withoutNulls(Buffer.from(text), facts)).toString()

t.test('null members: are cut with one comma, wherever they stand', t => {
  for (const [text, expected] of [
    ['{"a":null}', '{}'],
    ['{"a": null, "b": 1}', '{ "b": 1}'],
    ['{"a":1,"b":null}', '{"a":1}'],
    ['{"a":1,"b":null,"c":null}', '{"a":1}'],
    ['{"a":null,"b":null}', '{}'],
    ['{"a":null,"b":2,"c":null,"d":4}', '{"b":2,"d":4}'],
    ['[{"a":null},{"b":[null,{"c":null}]}]', '[{},{"b":[null,{}]}]'],
    ['{"passed":null,"a":{"passed":null,"b":null}}', '{"passed":null,"a":{"passed":null}}'],
    ['{"data":{"a":null,"b":[{"c":null}]},"d":null}', '{"data":{"a":null,"b":[{"c":null}]}}'],
    ['{"data":null}', '{}'],
    ['{"a":":null","b":"\\":null","c":null}', '{"a":":null","b":"\\":null"}'],
    ['{"\\u0070assed":null,"":null,"n":1e5}', '{"\\u0070assed":null,"n":1e5}'],
    ['{"big":12345678901234567890,"a":null}', '{"big":12345678901234567890}'],
  ] as const)
    t.equal(cut(text), expected, text)
  t.end()
})
t.test('null members: bytes without any are the same bytes', t => {
  for (const text of ['{"a":[null]}', '{"a":"null"}', '{"passed":null}', '{}', '[]', 'null']) {
    const bytes = Buffer.from(text)
    t.equal(withoutNulls(bytes, FACTS), bytes, text)
  }
  t.end()
})
t.test('null members: a deep request takes time in proportion to its size', t => {
  const depth = 200_000
  t.equal(cut(`${'['.repeat(depth)}{"a":null}${']'.repeat(depth)}`).length, 2 * depth + 2)
  t.end()
})
