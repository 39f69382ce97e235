/** Null members are cut out of the bytes of a request, and nothing else changes. */
import t from 'tap'
import { formats } from '../../../../plugins/formats/index.ts'
import {
  hasRefusedNull,
  nullFacts,
  withoutNulls,
} from '../../../../plugins/formats/json/null-members.ts'
import { createChance } from '../../../helpers/run-settings.ts'

const FACTS = nullFacts('passed', 'data')
const cut = (text: string, facts = FACTS): string =>
  Buffer.from(withoutNulls(Buffer.from(text), facts)).toString()

t.test('null members: are cut with one comma, wherever they stand', t => {
  for (const [text, expected] of [
    ['{"a":null}', '{}'],
    ['{"a": null, "b": 1}', '{ "b": 1}'],
    ['{"a":null\n\t,\r\n"b":1}', '{\r\n"b":1}'],
    ['{"a":1 ,\n"b": null\n}', '{"a":1\n}'],
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
const createDraw = () => {
  const chance = createChance(7)
  return <T>(list: readonly T[]): T => list[Math.floor(chance() * list.length)] as T
}
/** Whether `hasRefusedNull` of the JSON and `withoutNulls` of its bytes agree. */
const agree = (text: string, facts = FACTS): boolean =>
  hasRefusedNull(JSON.parse(text), facts) === (cut(text, facts) !== text)
t.test('null members: texts of any length, with quotes and white space anywhere', t => {
  const texts = ['', 'null', '"', '\\', 'say ": null,', 'x'.repeat(31), `${'\\'.repeat(40)}"`]
  // One escape only: V8 may give "\\"" the name of an earlier "\\\\".
  const names = ['', 'null', 'a"b', 'x'.repeat(31), 'x'.repeat(60)]
  const space = ['', ' ', '\n\t', '\r\n  ']
  const draw = createDraw()
  const documentOf = (depth: number): string => {
    const members = draw([0, 1, 2, 3, 5])
    const kind = depth > 3 ? 'text' : draw(['object', 'list', 'text', 'null', 'number'])
    const each = () => `${draw(space)}${documentOf(depth + 1)}${draw(space)}`
    if (kind === 'list') return `[${Array.from({ length: members }, each).join()}]`
    if (kind === 'text') return JSON.stringify(draw(texts))
    if (kind !== 'object') return kind === 'null' ? 'null' : draw(['0', '-1.5e3', 'true'])
    const member = (_: unknown, index: number) =>
      `${draw(space)}${JSON.stringify(`${index}${draw(names)}`)}${draw(space)}:${draw(['', ' '])}${documentOf(depth + 1)}${draw(space)}`
    return `{${Array.from({ length: members }, member).join()}}`
  }
  const present = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(present)
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value).filter(([, each]) => each !== null)
    return Object.fromEntries(entries.map(([name, each]) => [name, present(each)]))
  }
  const documents = Array.from({ length: 400 }, () => `{"first":null,"rest":${documentOf(0)}}`)
  t.same(
    documents.filter(
      each => JSON.stringify(JSON.parse(cut(each))) !== JSON.stringify(present(JSON.parse(each))),
    ),
    [],
  )
  t.end()
})
t.test('null members: hasRefusedNull is true where withoutNulls removes a member', t => {
  const draw = createDraw()
  const documentOf = (depth: number): unknown => {
    const kind = depth > 4 ? 'null' : draw(['object', 'object', 'list', 'null', 'text', 'number'])
    if (kind === 'list') return [documentOf(depth + 1), documentOf(depth + 1)]
    if (kind !== 'object') return draw([null, 1, ':null'])
    const names = ['passed', 'data', 'a', 'b'].filter(() => draw([true, false]))
    return Object.fromEntries(names.map(name => [name, documentOf(depth + 1)]))
  }
  const documents = Array.from({ length: 2_000 }, () => JSON.stringify(documentOf(0)))
  t.same(
    documents.filter(each => !agree(each)),
    [],
  )
  const refused = documents.filter(each => cut(each) !== each).length
  t.ok(refused > 200 && refused < 1_800, `${refused} of 2,000 have such a member`)
  t.end()
})
t.test('null members: a deep request takes time in proportion to its size', t => {
  const depth = 200_000
  t.equal(cut(`${'['.repeat(depth)}{"a":null}${']'.repeat(depth)}`).length, 2 * depth + 2)
  t.end()
})
t.test('null members: the data of a client stay unchanged', t => {
  for (const [format, members] of [
    ['anthropic-messages', 'input input_examples input_schema'],
    ['openai-chat', 'chat_template_kwargs guided_json json reasoning_details parameters'],
    ['openai-responses', 'arguments parameters'],
  ] as const)
    for (const member of members.split(' ')) {
      const text = `{"${member}":{"a":null,"b":[{"c":null}]}}`
      t.equal(cut(text, formats.get(format)?.nulls), text, `${format}: ${member}`)
    }
  t.end()
})
