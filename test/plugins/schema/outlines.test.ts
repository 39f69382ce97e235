/** A body is validated by its outline, and in full where its texts decide. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { validateRequest, validatorOf } from '../../../plugins/schema/compile.ts'
import { errorFrom, fakeExchange, fakeHost } from '../../helpers/gateway/fake-exchange.ts'

const host = fakeHost()
/** Whether the body is valid, and whether it was read in full. */
const validate = async (item: Json, body: Json): Promise<[isValid: boolean, isWhole: boolean]> => {
  const schema = {
    type: 'object',
    properties: { list: { type: 'array', maxItems: 9, items: item } },
    $defs: { short: { type: 'string', maxLength: 6_000 } },
  } as Json
  const { request } = fakeExchange({ body })
  let isWhole = false
  const fault = await validateRequest(validatorOf(schema, 'test', host), {
    headers: request.headers,
    outline: () => request.outline(),
    json: () => {
      isWhole = true
      return request.json()
    },
  })
  return [fault === undefined, isWhole]
}
const long = 'x'.repeat(9_000)
const listOf = (text: string): Json => ({ list: [{ text }], pad: [[[long]]] })
const member = (schema: Json): Json => ({ type: 'object', properties: { text: schema } })

const CASES: readonly (readonly [name: string, text: Json, accepted: string, refused?: string])[] =
  [
    ['maxLength', { type: 'string', maxLength: 6_000 }, 'x'.repeat(6_000), long],
    ['maxLength by a reference', { $ref: '#/$defs/short' }, 'x'.repeat(6_000), long],
    ['minLength', { type: 'string', minLength: 6_000 }, long, 'x'.repeat(5_000)],
    ['pattern', { type: 'string', pattern: 'x$', maxLength: 50_000 }, long, `${long}y`],
    ['format', { type: 'string', format: 'uri' }, `https://a/${long}`, long],
    ['const', { const: long }, long, `${long}y`],
    ['enum', { enum: ['a', long] }, long, `${long}y`],
    ['not', { not: { type: 'string', pattern: 'y$', maxLength: 50_000 } }, long, `${long}y`],
    ['if', { if: { type: 'string', maxLength: 8_000 }, else: false }, 'x'.repeat(8_000), long],
    [
      'anyOf',
      { anyOf: [{ type: 'number' }, { type: 'string', pattern: '^x*$', maxLength: 50_000 }] },
      long,
      `${long}y`,
    ],
    [
      'oneOf',
      { oneOf: [{ type: 'string' }, { type: 'string', pattern: 'y$', maxLength: 50_000 }] },
      long,
      `${long}y`,
    ],
  ]
for (const [name, schema, accepted, refused] of CASES)
  t.test(`outline: ${name} reads texts in full`, async t => {
    t.same(await validate(member(schema), listOf(accepted)), [true, true])
    t.same(await validate(member(schema), listOf(refused ?? '')), [false, true])
  })
t.test('outline: a schema without such keywords reads no text', async t => {
  const plain = member({ type: 'string', minLength: 1, maxLength: 4 })
  t.same(await validate(member({ type: 'string', minLength: 1 }), listOf(long)), [true, false])
  t.same(await validate(plain, { list: [{ text: 'abcd' }], pad: [[[long]]] }), [true, false])
  t.same(await validate(member({ type: 'number' }), listOf(long)), [false, true])
})
t.test('outline: a property may have the name of such a keyword', async t => {
  const schema = member({ type: 'object', properties: { pattern: { type: 'string' } } })
  const body = { list: [{ text: { pattern: long } }] }
  t.same(await validate(schema, body), [true, false])
})
t.test('outline: a text that looks cut is none in a whole body', async t => {
  const text = `${'x'.repeat(60)}\u007f\n0:12\u007f`
  t.same(await validate(member({ type: 'string', maxLength: 90 }), listOf(text)), [true, true])
})
t.test('outline: the fault of a body is that of its texts', async t => {
  const chat = validatorOf(
    {
      type: 'object',
      properties: { list: { type: 'array', maxItems: 1, items: { type: 'number' } } },
    },
    'test',
    host,
  )
  const body = { list: [long] }
  const { request } = fakeExchange({ body: { ...body, pad: [[[long]]] } })
  const error = await errorFrom(async () => {
    throw await validateRequest(chat, request)
  })
  t.same(error, chat.validate(body))
})
