/** The image queue over the shipped routes.yaml and a real upstream process: one task from its
 *  create to its receipt, and the exact error bodies of /mj. */
import t from 'tap'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey, createAccount } from '../../../plugins/credentials/statements.ts'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { database, gateway, key, upstream } from './shipped-gateway.ts'

type Fields = Readonly<Record<string, unknown>>
const call = async (
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = { authorization: `Bearer ${key}` },
) => {
  const response = await fetch(gateway.url + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const json = (await response.json()) as Fields
  return { status: response.status, json, request: response.headers.get('x-request-id') ?? '' }
}
const turn = (json: unknown) => [{ do: 'body' } as const, plain(json)]
const submit = (body: Fields, prefix = '') => call('POST', `${prefix}/mj/submit/imagine`, body)

t.test('imagine: is created, sent with the key of the operator, shown and charged', async t => {
  const imageUrl = 'https://files.example/cat.png'
  await upstream.script(
    'mj',
    turn({ code: 22, description: '排队中', result: '17', properties: { numberOfQueues: 1 } }),
    turn({ status: 'SUCCESS', imageUrl, progress: '100%' }),
  )
  const headers = { 'mj-api-secret': key }
  const body = { prompt: 'a cat', nonsense: 'not sent', accountFilter: { modes: ['TURBO'] } }
  const path = '/mj-relax/mj/submit/imagine'
  const { status, json, request } = await call('POST', path, body, headers)
  t.equal(status, 200)
  const id = String(json.result)
  t.same(json, { code: 1, description: '成功', result: id, properties: {} })
  const done = await eventually(async () => {
    const { json } = await call('GET', `/mj-relax/mj/task/${id}/fetch`, undefined, headers)
    return json.status === 'SUCCESS' ? json : undefined
  })
  t.match(done, { id, prompt: 'a cat', imageUrl, progress: '100%', failReason: null })
  const requests = await upstream.events('request', 'mj')
  t.same(
    requests.map(({ head }) => head.target),
    ['/s/mj/mj-relax/mj/submit/imagine', '/s/mj/mj-relax/mj/task/17/fetch'],
  )
  for (const { head } of requests) {
    const keys = head.headers.filter(([name]) => /^(?:mj-api-secret|authorization)$/i.test(name))
    t.same(keys, [['mj-api-secret', 'operators-midjourney-key']])
  }
  const [upstreamBody] = await upstream.events('body', 'mj')
  t.same(JSON.parse(Buffer.from(upstreamBody?.body.bytes ?? []).toString()), { prompt: 'a cat' })
  const { json: receipt } = await call('GET', `/api/usage/${id}`)
  // 0.05 USD at 7.2.
  t.match(receipt.data, { request_id: request, model: 'mj-relax', cost: 0.36 })
  const { json: speed } = await call('GET', '/mj/speed')
  const seconds = Object((speed.result as Fields).speed).relax
  t.match(speed.result, { state: 'normal', running: 0, queued: 0, capacity: 27 })
  t.type(seconds, 'number')
})

const invalid = (description: string, code = 4) => ({ description, type: 'gateway_error', code })
const IMAGE = 'data:image/png;base64,AA=='
/** A request that is valid but for these members. */
const cat = (members: Fields): Fields => ({ prompt: 'a cat', ...members })
const typeOf = (expected: string, kind: string) => `expected ${expected}, but got ${kind} instead.`
const mostOf = (most: number, things: string) =>
  `expected at most ${most} ${things}, but got ${most + 1} instead.`
t.test('/mj: refuses each invalid request with its body', async t => {
  await upstream.forget()
  const pattern = '^data:image\\/(?:png|jpeg|jpg|webp|gif);base64,'
  for (const [body, description] of [
    [{}, "Missing required parameter: 'prompt'."],
    [{ prompt: '' }, "Invalid 'prompt': expected at least 1 character, but got 0 instead."],
    [{ prompt: ' \n' }, "Invalid 'prompt': it does not match the pattern \\S."],
    [{ prompt: 7 }, `Invalid type for 'prompt': ${typeOf('a string', 'a number')}`],
    [{ prompt: 'x'.repeat(8_193) }, `Invalid 'prompt': ${mostOf(8_192, 'characters')}`],
    [
      cat({ base64Array: IMAGE }),
      `Invalid type for 'base64Array': ${typeOf('an array', 'a string')}`,
    ],
    [cat({ base64Array: Array(11).fill(IMAGE) }), `Invalid 'base64Array': ${mostOf(10, 'items')}`],
    [
      cat({ base64Array: ['AA=='] }),
      `Invalid 'base64Array[0]': it does not match the pattern ${pattern}.`,
    ],
    [
      cat({ base64Array: [7] }),
      `Invalid type for 'base64Array[0]': ${typeOf('a string', 'a number')}`,
    ],
    [
      cat({ base64: 'https://files.example/1.png' }),
      `Invalid 'base64': it does not match the pattern ${pattern}.`,
    ],
    [
      cat({ botType: 'OTHER' }),
      "Invalid value for 'botType': 'OTHER'. Supported values are: 'MID_JOURNEY', 'NIJI_JOURNEY'.",
    ],
    [cat({ state: 7 }), `Invalid type for 'state': ${typeOf('a string', 'a number')}`],
    [cat({ state: 'x'.repeat(65_537) }), `Invalid 'state': ${mostOf(65_536, 'characters')}`],
    [cat({ notifyHook: 7 }), `Invalid type for 'notifyHook': ${typeOf('a string', 'a number')}`],
    [
      cat({ notifyHook: 'no url' }),
      'invalid field: notifyHook: This webhook URL cannot be used: it is not a valid URL.',
    ],
  ] as const) {
    const { status, json } = await submit(body)
    t.equal(status, 400)
    t.same(json, invalid(description))
  }
  for (const prefix of ['/mj-fast', '/mj-turbo', '/mj-relax'])
    t.match(await submit({}, prefix), { status: 400, json: { code: 4 } }, prefix)
  t.same(await upstream.events('request', 'mj'), [], 'nothing was sent')
})

t.test('/mj: refuses credentials that are missing, wrong or of another kind', async t => {
  const paths = [
    'POST /mj/submit/imagine',
    'GET /mj/speed',
    'GET /mj/task/1/fetch',
    'GET /mj/task/list',
  ]
  const token = makeSecret('system-token').text
  for (const [headers, description] of [
    [{}, 'No API key or token found'],
    [{ 'mj-api-secret': 'sk-wrong' }, 'Invalid API key or token'],
    [{ authorization: 'Bearer sk-wrong' }, 'Invalid API key or token'],
    [{ authorization: `Bearer ${token}` }, 'This route accepts an API key'],
    [{ authorization: `Bearer ${key}`, 'mj-api-secret': 'sk-other' }, 'The request has two'],
  ] as const)
    for (const route of paths) {
      const [method = '', path = ''] = route.split(' ')
      const body = method === 'POST' ? { prompt: 'x' } : undefined
      const { status, json } = await call(method, path, body, { ...headers })
      t.equal(status, 401)
      t.same(json, invalid(String(json.description)))
      t.ok(String(json.description).startsWith(description), `${json.description}`)
    }
  t.equal((await call('GET', `/mj/speed?key=${key}`, undefined, {})).status, 401)
})

t.test('/mj: an unknown task, path, method and model, and an empty balance', async t => {
  const missing = { status: 404, json: invalid('task not found', 3) }
  t.match(await call('GET', '/mj/task/123456789012345678/fetch'), missing)
  t.match(await call('GET', '/mj/nothing'), {
    status: 404,
    json: { type: 'gateway_error', code: 3 },
  })
  t.match(await call('GET', '/mj-slow/mj/task/1/fetch'), { status: 404 })
  t.match(await call('DELETE', '/mj/speed'), { status: 405, json: { code: 4 } })
  const idOf = async (list: Parameters<typeof database.write>[0]) =>
    Number((await database.write(list)).at(-1)?.[0]?.id)
  const account = await idOf(createAccount({ name: 'no credit', role: 'customer' }, Date.now()))
  const poor = makeSecret('key')
  await idOf(addKey({ account, name: 'poor', secret: poor }, Date.now()))
  const limited = makeSecret('key')
  await idOf(addKey({ account, name: 'fast', secret: limited, models: ['mj-fast'] }, Date.now()))
  const create = (prefix: string, { text }: typeof poor) =>
    call('POST', `${prefix}/mj/submit/imagine`, { prompt: 'x' }, { 'mj-api-secret': text })
  t.match(await create('', poor), { status: 403, json: { type: 'gateway_error', code: 4 } })
  const forbidden = invalid("This API key may not use the model 'mj-turbo'.")
  t.match(await create('/mj-turbo', limited), { status: 403, json: forbidden })
  t.same(await upstream.events('request', 'mj'), [], 'nothing was sent')
})
