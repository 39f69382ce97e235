/** Embeddings through the shipped gateway: each request of a batch keeps its settings, unsupported
 *  fields are named or refused, and models without embeddings are not called. */
import t, { type Test } from 'tap'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import { postWithKey, sentCalls, upstream } from './shipped-gateway.ts'

const post = async (path: string, body: object | string, headers: object = {}) => {
  const response = await postWithKey(path, body, headers)
  const droppedHeader = response.headers.get('x-tollgate-dropped')
  return {
    status: response.status,
    dropped: droppedHeader,
    text: JSON.stringify(await response.json()),
  }
}
const STRICT = { 'x-tollgate-strict': 'true' }
const values = [0.5, -0.25]
const rows = [0, 1].map(index => ({ object: 'embedding', index, embedding: values }))
const scriptAnswers = async () => {
  await upstream.script('gx', [{ do: 'body' }, plain({ embeddings: [{ values }, { values }] })])
  const usage = { prompt_tokens: 2, total_tokens: 2 }
  for (const name of ['gp', 'em'])
    await upstream.script(name, [{ do: 'body' }, plain({ object: 'list', data: rows, usage })])
}
/** The body that this upstream received. */
const sentBody = async (name: string): Promise<string> => {
  const [body] = await upstream.events('body', name)
  return Buffer.from(body?.body.bytes ?? []).toString()
}
const checkNoUpstreamCall = async (t: Test): Promise<void> =>
  void t.same(await sentCalls(), [], 'no upstream request')

const content = (text: string) => ({ parts: [{ text }] })
const model = 'models/gx-embedding-001'
const googlePath = (name: string, verb: string) => `/v1beta/models/${name}:${verb}`
const batch = (name: string, requests: readonly object[], headers = {}) =>
  post(
    googlePath(name, 'batchEmbedContents'),
    { requests: requests.map(each => ({ content: content('a'), ...each })) },
    headers,
  )

t.test('embeddings: each request of a batch keeps its settings', async t => {
  await scriptAnswers()
  const requests = [
    { model, taskType: 'RETRIEVAL_DOCUMENT', title: 'Cats', outputDimensionality: 8 },
    { model, task_type: 'CLUSTERING', outputDimensionality: 16, nosuch: { a: [1] } },
  ]
  const { status, dropped, text } = await batch('gx-embedding-001', requests, STRICT)
  t.equal(status, 200, text)
  t.equal(dropped, null)
  const there = 'models/gemini-embedding-001'
  t.same(JSON.parse(await sentBody('gx')), {
    requests: requests.map(each => ({ content: content('a'), ...each, model: there })),
  })
})
t.test(
  'embeddings: different dimensions are refused by path for targets with one value',
  async t => {
    await scriptAnswers()
    for (const [requests, path] of [
      [
        [{ outputDimensionality: 8 }, { outputDimensionality: 16 }],
        'requests[1].outputDimensionality',
      ],
      [[{}, { output_dimensionality: 16 }], 'requests[1].output_dimensionality'],
      [[{ outputDimensionality: 8 }, {}], 'requests[0].outputDimensionality'],
    ] as const) {
      const { status, text } = await batch('gp-embedding-3-small', requests)
      t.equal(status, 400, path)
      t.ok(text.includes(`'${path}'`), text)
    }
    await checkNoUpstreamCall(t)
    const same = { outputDimensionality: 8 }
    const { status, dropped } = await batch('gp-embedding-3-small', [same, same])
    t.same([status, dropped], [200, null])
    t.match(JSON.parse(await sentBody('gp')), { input: ['a', 'a'], dimensions: 8 })
  },
)
t.test('embeddings: a request for another model than the path’s is refused by path', async t => {
  await scriptAnswers()
  const name = 'gx-embedding-001'
  const other = { model: 'models/gp-embedding-3-small' }
  const refusal = await batch(name, [{ model }, other])
  t.equal(refusal.status, 400)
  t.match(refusal.text, "'requests[1].model'")
  const one = await post(googlePath(name, 'embedContent'), { content: content('a'), ...other })
  t.equal(one.status, 400)
  t.match(one.text, "'model'")
  await checkNoUpstreamCall(t)
})
t.test('embeddings: pass through except the model name in the same format', async t => {
  await scriptAnswers()
  await upstream.script('gx', [{ do: 'body' }, plain({ embedding: { values } })])
  const one = '{ "content" : {"parts":[ {"text":"\\u0061"} ], "role":"user"}, "nosuch": 1.50 }'
  for (const name of ['', `"model" : "${model}", `]) {
    const bytes = one.replace('{ ', `{ ${name}`)
    const reply = await post(googlePath('gx-embedding-001', 'embedContent'), bytes, STRICT)
    t.same([reply.status, reply.dropped], [200, null], reply.text)
    t.equal(await sentBody('gx'), bytes.replace(model, 'models/gemini-embedding-001'))
    await upstream.forget()
  }
  const many = '{ "model":"gp-embedding-3-small", "input" : ["\\u0061", "b"],  "nosuch": 1.50 }'
  t.equal((await post('/v1/embeddings', many, STRICT)).status, 200)
  t.equal(await sentBody('gp'), many.replace('gp-embedding-3-small', 'text-embedding-3-small'))
})

t.test('embeddings: unsupported fields are named as the client wrote them, or refused', async t => {
  await scriptAnswers()
  const image = {
    type: 'image_url',
    image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' },
  }
  const openai = {
    model: 'gx-embedding-001',
    input: ['a', image],
    user: 'ann',
    nosuch: 1,
    none: null,
  }
  const google = [
    {
      task_type: 'CLUSTERING',
      content: { parts: [{ text: 'a', videoMetadata: {} }], role: 'user' },
    },
    { taskType: 'CLUSTERING', title: 'x', nosuch: true },
  ]
  for (const [ask, target, names] of [
    [
      (headers: object) => post('/v1/embeddings', openai, headers),
      'gx',
      ['nosuch', 'input[1].image_url.detail', 'user'],
    ],
    [
      (headers: object) => batch('gp-embedding-3-small', google, headers),
      'gp',
      [
        'requests[0].content.parts[0].videoMetadata',
        'requests[1].nosuch',
        'requests[0].task_type',
        'requests[1].taskType',
        'requests[1].title',
      ],
    ],
  ] as const) {
    const refusal = await ask(STRICT)
    t.equal(refusal.status, 400)
    t.ok(refusal.text.includes(`does not support '${names[0]}'`), refusal.text)
    await checkNoUpstreamCall(t)
    const { status, dropped, text } = await ask({})
    t.same([status, dropped], [200, names.join(', ')], text)
    t.not(await sentBody(target), '')
    await upstream.forget()
  }
})

t.test('embeddings: other models are a 404 on every embedding route', async t => {
  await scriptAnswers()
  const body = { content: content('a') }
  for (const name of ['flux-1.1-pro', 'rc-v3', 'gp-4o-image', 'dall-e-3', 'cl-haiku-4-5', 'gp-4.1'])
    for (const [path, request] of [
      ['/v1/embeddings', { model: name, input: 'a' }],
      [googlePath(name, 'embedContent'), body],
      [googlePath(name, 'batchEmbedContents'), { requests: [body] }],
    ] as const) {
      const { status, text } = await post(path, request)
      t.equal(status, 404, `${path} ${name}`)
      t.ok(text.includes(`'${name}' is not available on this endpoint`), text)
    }
  await checkNoUpstreamCall(t)
})

t.test('embeddings: objects go up as they are where the model accepts objects', async t => {
  const text = { type: 'text', text: 'a cat' }
  const image = { type: 'image_url', image_url: { url: 'https://a.example/cat.png' } }
  const ask = async (name: string, input: object) => {
    await scriptAnswers()
    const { status, text } = await post('/v1/embeddings', { model: name, input })
    t.equal(status, 200, text)
  }
  await ask('multimodal-embedding-v1', [text, image])
  t.match(JSON.parse(await sentBody('em')), { input: [text, image] })
  await upstream.forget()
  await ask('gp-embedding-3-small', [text, text])
  t.match(JSON.parse(await sentBody('gp')), { input: ['a cat', 'a cat'] }, 'it knows texts only')
  await upstream.forget()
  const contents = [{ content: content('a') }, { content: content('b') }]
  await scriptAnswers()
  t.equal((await batch('multimodal-embedding-v1', contents)).status, 200)
  t.match(JSON.parse(await sentBody('em')), { input: [{ type: 'text', text: 'a' }, { text: 'b' }] })
})
