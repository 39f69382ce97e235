/** Plugin `validate`: accepted Content-Types, usable schemas, and faults of bodies. */
import t from 'tap'
import type { Json } from '../../engine/plugin.ts'
import { EXPANDED_REQUEST } from '../../plugins/slots.ts'
import validate from '../../plugins/validate.ts'
import { errorFrom, fakeExchange, fakeHost, noNext } from '../helpers/gateway/fake-exchange.ts'

const CHAT = 'schemas/chat-completions.json'
const good = { model: 'gp-4.1', messages: [{ role: 'user', content: 'hello' }] }
const chat = validate.setup(CHAT, fakeHost())

const validationFaultOf = (body: Json | Buffer, type?: string) => {
  const headers = type === undefined ? {} : { 'content-type': type }
  return errorFrom(() => chat.handle(fakeExchange({ body, headers }), noNext))
}

t.test('validate: a valid body continues once', async t => {
  let calls = 0
  const next = async (): Promise<void> => void calls++
  await chat.handle(fakeExchange({ body: good }), next)
  t.equal(calls, 1)
})

const JSON_TYPES = [
  undefined,
  'application/json',
  'APPLICATION/JSON',
  'Application/Json',
  'application/json;',
  'application/json ;',
  'application/json; ',
  'application/json\t;\tcharset=utf-8',
  '\tapplication/json\t',
  'application/json;charset=utf-8',
  'application/json; charset=UTF-8',
  'application/json; charset="utf-8"',
  'application/json;charset=utf8',
  'application/json; CHARSET=utf-8',
  'application/json; profile="a b; c"',
  'application/json; q=1; charset=utf-8',
  'application/json;;charset=utf-8',
]
const OTHER_TYPES = [
  '',
  ' ',
  'json',
  'text/json',
  'text/plain',
  'application/xml',
  'application/jsonx',
  'application/json5',
  'application/x-json',
  'application/vnd.api+json',
  'application/merge-patch+json',
  'application/*',
  'application /json',
  'application/ json',
  'application/json, text/plain',
  'text/plain, application/json',
  'application/json application/json',
  'application/json,',
  'application/json\u000b',
  'application/json; charset=utf-16',
  'application/json; charset=latin1',
  'multipart/form-data; boundary=application/json',
  'application/x-www-form-urlencoded',
]
t.test('validate: each spelling of the Content-Type is either validated or refused', async t => {
  for (const type of JSON_TYPES) {
    t.equal(await validationFaultOf(good, type), undefined, `${JSON.stringify(type)} is JSON`)
    const fault = await validationFaultOf({ ...good, model: 7 }, type)
    t.equal(fault?.code, 'INVALID_TYPE', `${JSON.stringify(type)} is validated`)
  }
  for (const type of OTHER_TYPES) {
    const fault = await validationFaultOf(good, type)
    t.match(fault, { code: 'CONTENT_TYPE', status: 415 }, `${JSON.stringify(type)} is refused`)
    t.match(fault?.headers, { 'accept-post': 'application/json' })
  }
})

t.test('validate: invalid JSON is refused before the schema', async t => {
  for (const [body, code] of [
    ['', 'BODY_EMPTY'],
    ['{"model":', 'BODY_NOT_JSON'],
    ['{"model":"a","model":"b"}', 'BODY_DUPLICATE_KEY'],
    ['{"__proto__":1}', 'BODY_FORBIDDEN_KEY'],
    ['['.repeat(65) + ']'.repeat(65), 'BODY_TOO_DEEP'],
  ] as const)
    t.equal((await validationFaultOf(Buffer.from(body)))?.code, code)
})

t.test('validate: an unusable schema fails at load with its name', async t => {
  const set = (files: Readonly<Record<string, string>>, path = 'schemas/own.json') =>
    errorFrom(() => validate.setup(path, fakeHost({ files })))
  t.match(await set({}, 'schemas/nowhere.json'), {
    code: 'SCHEMA_UNREADABLE',
    message: /schemas\/nowhere\.json/,
  })
  const bad: readonly (readonly [name: string, text: string, code: string, words: RegExp])[] = [
    ['invalid JSON', '{"type":', 'SCHEMA_NOT_JSON', /own\.json is not JSON/],
    ['an unknown type', '{"type":"objekt"}', 'SCHEMA_REFUSED', /own\.json/],
    ['an unknown keyword', '{"requierd":["a"]}', 'SCHEMA_REFUSED', /requierd/],
    ['a dangling reference', '{"$ref":"#/$defs/x"}', 'SCHEMA_REFUSED', /x/],
    ['a remote reference', '{"$ref":"http://example.com/x"}', 'SCHEMA_REFUSED', /example/],
    ['an unknown format', '{"format":"klingon"}', 'SCHEMA_REFUSED', /klingon/],
    ['an unknown draft', '{"$schema":"http://x/y"}', 'SCHEMA_REFUSED', /http:\/\/x\/y/],
    ['look-ahead', '{"pattern":"^(?=a)b"}', 'SCHEMA_REFUSED', /\(\?=/],
    ['a back-reference', '{"pattern":"(a)\\\\1"}', 'SCHEMA_REFUSED', /\\1/],
    ['an incomplete pattern', '{"pattern":"[a-"}', 'SCHEMA_REFUSED', /\[a-/],
    ['$data', '{"properties":{"a":{"pattern":{"$data":"1/b"}}}}', 'SCHEMA_REFUSED', /pattern/],
  ]
  for (const [name, text, code, words] of bad)
    t.match(await set({ 'schemas/own.json': text }), { code, message: words }, name)
})

t.test('validate: backtracking patterns take linear time', async t => {
  const text = { type: 'string', maxLength: 10_000 }
  const files = {
    'evil.json': JSON.stringify({
      type: 'object',
      properties: {
        a: { ...text, pattern: '^(a|a)*$' },
        b: { ...text, pattern: '^(a+)+$' },
        c: { ...text, pattern: '^([a-zA-Z]+)*$' },
        d: { ...text, pattern: '(x+x+)+y' },
      },
    }),
  }
  const stage = validate.setup('evil.json', fakeHost({ files }))
  const letters = `${'a'.repeat(5_000)}!`
  for (const key of ['a', 'b', 'c'])
    t.match(
      await errorFrom(() => stage.handle(fakeExchange({ body: { [key]: letters } }), noNext)),
      {
        code: 'INVALID_VALUE',
        param: key,
      },
    )
  const crosses = { d: 'x'.repeat(5_000) }
  t.match(await errorFrom(() => stage.handle(fakeExchange({ body: crosses }), noNext)), {
    param: 'd',
  })
})

t.test('validate: a schema is compiled once for all routes', async t => {
  const host = fakeHost({ files: { 'copy.json': fakeHost().file(CHAT) } })
  for (const path of [CHAT, CHAT, 'copy.json']) validate.setup(path, host)
  t.equal(host.createdKeys.filter(key => /^schema [0-9a-f]{64}$/.test(key)).length, 1)
  t.equal(host.createdKeys.filter(key => key.startsWith('schema compiler')).length, 1)
})

t.test('validate: a draft-07 schema is supported', async t => {
  const files = {
    'old.json':
      '{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"a":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/a"}}}',
  }
  const stage = validate.setup('old.json', fakeHost({ files }))
  const fault = await errorFrom(() => stage.handle(fakeExchange({ body: { a: 1 } }), noNext))
  t.match(fault, { code: 'INVALID_TYPE', param: 'a' })
})

t.test('validate: unknown members are dropped where the route says so', async t => {
  const files = {
    'clip.json': JSON.stringify({
      type: 'object',
      properties: {
        prompt: { type: 'string' },
        meta: { type: 'object' },
        subjects: { type: 'array', items: { type: 'object', properties: { id: {} } } },
      },
    }),
  }
  const stage = validate.setup({ schema: 'clip.json', unknown: 'drop' }, fakeHost({ files }))
  const knownBody = async (body: Json): Promise<Json | undefined> => {
    const exchange = fakeExchange({ body })
    await stage.handle(exchange, async () => {})
    const expanded = exchange.slots.get(EXPANDED_REQUEST)
    t.same(await exchange.request.json(), expanded?.body ?? body)
    return expanded?.body
  }
  const known = { prompt: 'a', meta: { any: 1 }, subjects: [{ id: 'x' }] }
  t.equal(await knownBody(known), undefined, 'nothing to drop')
  t.same(await knownBody({ ...known, other: 1, toString: 2 }), known)
  t.same(await knownBody({ prompt: 'a', subjects: [{ id: 'x', other: 1 }] }), {
    prompt: 'a',
    subjects: [{ id: 'x' }],
  })
  t.same(stage.explain(), { schema: 'clip.json', unknown: 'drop' })
})

t.test('validate: null members are left out and unknown ones pass with nulls: drop', async t => {
  const files = {
    'clip.json': '{"type":"object","required":["id"],"properties":{"prompt":{"type":"string"}}}',
  }
  const stage = validate.setup({ schema: 'clip.json', nulls: 'drop' }, fakeHost({ files }))
  const exchange = fakeExchange({ body: { id: 1, prompt: null, own: { a: null, b: 2 } } })
  await stage.handle(exchange, async () => {})
  t.same(await exchange.request.json(), { id: 1, own: { b: 2 } })
  const fault = await errorFrom(() =>
    stage.handle(fakeExchange({ body: { id: null } }), async () => {}),
  )
  t.match(fault, { param: 'id' }, 'a required member that is null is missing')
  t.same(stage.explain(), { schema: 'clip.json', nulls: 'drop' })
})

t.test('validate: lists in the items of a list are bounded together', async t => {
  const files = {
    'total.json': JSON.stringify({
      properties: { subjects: { type: 'array', maxTotal: { images: 3 } } },
    }),
  }
  const stage = validate.setup('total.json', fakeHost({ files }))
  const faultOf = (subjects: Json) =>
    errorFrom(() => stage.handle(fakeExchange({ body: { subjects } }), async () => {}))
  t.equal(await faultOf([{ images: [1, 2] }, { images: [3] }, {}, { images: 'x' }, 7]), undefined)
  t.match(await faultOf([{ images: [1, 2] }, { images: [3, 4] }]), {
    code: 'INVALID_SIZE',
    param: 'subjects',
    message: /at most 3 images in all, but got 4/,
  })
})
