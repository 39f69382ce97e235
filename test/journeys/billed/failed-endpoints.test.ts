/** Errors in a body with status 200 of embeddings, images and reranking: the next target answers,
 *  and the customer pays for its answer alone, or for nothing where no target is left. */
import t from 'tap'
import { bearer, postTo } from '../../helpers/gateway/post.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'
import {
  type Customer,
  gateway,
  prepareCustomer,
  rows,
} from '../../helpers/money/billing-gateway.ts'

interface Endpoint {
  readonly path: string
  readonly format: string
  readonly body: object
  readonly answer: object
  /** Bodies that are not answers, besides those in OpenAI's shapes. */
  readonly failures?: readonly object[]
}
const usage = { prompt_tokens: 4, total_tokens: 4 }
const GOOGLE_ERROR = { error: { code: 503, message: 'later', status: 'UNAVAILABLE' } }
const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  embeddings: {
    path: '/v1/embeddings',
    format: 'openai-embeddings',
    body: { input: 'Rome' },
    answer: {
      object: 'list',
      model: 'm',
      data: [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }],
      usage,
    },
    failures: [{ object: 'list', data: [], usage }],
  },
  'google-embeddings': {
    path: '/v1/embeddings',
    format: 'google-embeddings',
    body: { input: 'Rome' },
    answer: { embedding: { values: [0.5, 0.25] } },
    failures: [GOOGLE_ERROR],
  },
  images: {
    path: '/v1/images/generations',
    format: 'openai-images',
    body: { prompt: 'a cat' },
    answer: { created: 1, data: [{ b64_json: 'AAAA' }] },
    failures: [{ created: 1, data: [] }],
  },
  rerank: {
    path: '/v1/rerank',
    format: 'cohere-rerank',
    body: { query: 'Rome', documents: ['a', 'b'] },
    answer: { id: 'r', results: [{ index: 0, relevance_score: 0.5 }], meta: {} },
  },
}
const ERRORS: readonly object[] = [
  { error: { message: 'later', type: 'server_error', code: 'overloaded' } },
  { error: 'later' },
  { object: 'error', message: 'later', type: 'server_error' },
]

/** Bodies by target; a text is sent as `type`. */
let bodies: Record<string, object | string> = {}
let type = ''
let requests: string[] = []
const url = await startHttpUpstream(t, async (request, response) => {
  for await (const _ of request);
  const target = request.url?.split('/')[1] ?? ''
  requests.push(target)
  const body = bodies[target]
  const isText = typeof body === 'string'
  response.writeHead(200, { 'content-type': isText ? type : 'application/json' })
  response.end(isText ? body : JSON.stringify(body))
})
/** The format of each endpoint. */
const FORMATS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(ENDPOINTS).map(([name, { format }]) => [name, format])),
  speech: 'openai-speech',
}
const names = Object.keys(FORMATS)
const upstreamOf = (target: string, name: string): string =>
  `  ${target}-${name}: { url: '${url}/${target}', key: k, health: { failures: 1000000 }, formats: [${FORMATS[name]}] }\n`
const price = 'price: { calls: 5 }'
const ROUTES = `
pipeline: [errors, auth, model, idempotency, meter, translate, embed]
upstreams:
${names.map(name => upstreamOf('a', name) + upstreamOf('b', name)).join('')}
models:
${names.map(name => `  both-${name}: { to: [a-${name}/m, b-${name}/m], ${price} }\n  alone-${name}: { to: a-${name}/m, ${price} }\n`).join('')}
routes:
  - { path: POST /v1/embeddings, auth: key, model: body, idempotency: true, embed: openai, errors: openai }
  - { path: POST /v1/images/generations, auth: key, model: body, idempotency: true, translate: openai-images, errors: openai }
  - { path: POST /v1/rerank, auth: key, model: body, idempotency: true, translate: cohere-rerank, errors: openai }
  - { path: POST /v1/audio/speech, auth: key, model: body, translate: openai-speech, errors: openai }
`
let customer: Customer
t.before(async () => {
  customer = await prepareCustomer(ROUTES, 2_000_000_000_000n)
})

const ask = async (
  { path, body }: Pick<Endpoint, 'path' | 'body'>,
  model: string,
  idempotencyKey = model,
) => {
  const response = await postTo(
    gateway.url + path,
    { model, ...body },
    { ...bearer(customer.key), 'idempotency-key': idempotencyKey },
  )
  await response.text()
  return { status: response.status, replayed: response.headers.get('idempotent-replayed') }
}
const chargesOf = async (): Promise<number> => {
  await eventually(async () => {
    const [open] = await rows(
      `SELECT count(*) AS n FROM charges WHERE account = ${customer.account} AND state = 'open'`,
    )
    return Number(open?.n) === 0 || undefined
  })
  const [row] = await rows(
    `SELECT count(*) AS n FROM charges WHERE account = ${customer.account} AND amount > 0`,
  )
  return Number(row?.n)
}

for (const [name, endpoint] of Object.entries(ENDPOINTS))
  t.test(`failed attempts of ${name}: an error with status 200 costs nothing`, async t => {
    let charges = await chargesOf()
    for (const [at, failure] of [...ERRORS, ...(endpoint.failures ?? [])].entries()) {
      const text = JSON.stringify(failure)
      bodies = { a: failure, b: endpoint.answer }
      requests = []
      t.ok((await ask(endpoint, `alone-${name}`)).status >= 500, text)
      t.same(requests, ['a'], text)
      t.equal(await chargesOf(), charges, `${text} of the last target`)
      requests = []
      const key = `${name} ${at}`.replaceAll(' ', '-')
      const answer = await ask(endpoint, `both-${name}`, key)
      t.same(answer, { status: 200, replayed: null }, `${text}, then an answer`)
      t.same(requests, ['a', 'b'])
      t.equal(await chargesOf(), ++charges, 'the answer of the second target alone')
      t.equal((await ask(endpoint, `both-${name}`, key)).replayed, 'true')
    }
    bodies = { a: endpoint.answer }
    const again = await ask(endpoint, `alone-${name}`)
    t.same(again, { status: 200, replayed: null }, 'its key kept no failure')
    t.equal(await chargesOf(), ++charges)
  })

/** Answers without audio, and one with it, by content type. */
const SPEECH = {
  'text/event-stream': {
    failures: [
      'data: {"type":"speech.audio.done","usage":{"input_tokens":4,"output_tokens":0}}\n\n',
      'data: {"type":"speech.audio.delta","audio":""}\n\ndata: {"type":"speech.audio.done"}\n\n',
    ],
    answer:
      'data: {"type":"speech.audio.delta","audio":"AAAA"}\n\ndata: {"type":"speech.audio.done"}\n\n',
  },
  'audio/mpeg': { failures: [''], answer: 'audio' },
}
for (const [mime, { failures, answer }] of Object.entries(SPEECH))
  t.test(`failed attempts of speech: ${mime} without audio costs nothing`, async t => {
    const speech = { path: '/v1/audio/speech', body: { input: 'Rome', voice: 'alloy' } }
    let charges = await chargesOf()
    type = mime
    for (const failure of failures) {
      bodies = { a: failure, b: answer }
      requests = []
      await ask(speech, 'alone-speech')
      t.same(requests, ['a'], failure)
      t.equal(await chargesOf(), charges, `${failure} of the last target`)
      requests = []
      t.equal((await ask(speech, 'both-speech')).status, 200)
      t.same(requests, ['a', 'b'], failure)
      t.equal(await chargesOf(), ++charges, 'the answer of the second target alone')
    }
  })
