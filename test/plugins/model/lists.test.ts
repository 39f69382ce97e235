/** Model lists: three dialects, pages, and keys with a model list. */
import t from 'tap'
import type { Document, Json } from '../../../engine/plugin.ts'
import model, { type Options } from '../../../plugins/model/index.ts'
import { ACCOUNT } from '../../../plugins/slots.ts'
import {
  errorFrom,
  fakeExchange,
  fakeHost,
  noNext,
  type RequestOptions,
  readReply,
} from '../../helpers/gateway/fake-exchange.ts'

const models = {
  'gp-4.1': { to: 'gp/gpt-4.1', title: 'GP 4.1', context: 1_000, output: 100, owner: 'us' },
  'cl-x': { to: ['cl/x', 'gp/x'] },
  'cl-*': { to: 'cl/*' },
  'gx-2': { to: 'gx/2', aliases: ['gemini-2', 'gemini-2-001'] },
  'o-*': { to: 'gp/o', only: ['responses'] },
  'f-*': { to: 'gp/f', traits: { formats: ['anthropic-messages'] } },
  'e-*': { to: 'gp/e', traits: { formats: ['openai-embeddings'] } },
  'n-*': { to: 'gp/n', accepts: { '*': false } },
}
const routes = [
  { path: 'POST /v1/chat/completions', name: 'chat', translate: 'openai-chat' },
  { path: 'POST /v1/responses', name: 'responses', translate: 'openai-responses' },
  { path: 'POST /v1/messages', translate: { format: 'anthropic-messages', strict: true } },
  { path: 'POST /v1beta/models/{model}:generateContent', translate: 'google-gemini' },
  { path: 'POST /v1/embeddings', embed: 'openai' },
  { path: 'POST /v1beta/models/{model}:embedContent', embed: 'google' },
]
const host = fakeHost({
  document: { models, routes } as unknown as Document,
  upstreams: {
    gp: { options: { formats: ['openai-chat', 'openai-responses'] } },
    cl: { options: { formats: ['anthropic-messages'] } },
    gx: { options: {} },
  },
})
const read = async (
  options: Options,
  request: RequestOptions = {},
  allowedModels?: readonly string[],
) => {
  const stage = model.setup(options, host)
  const exchange = fakeExchange({ method: 'GET', ...request })
  if (allowedModels)
    exchange.slots.set(ACCOUNT, {
      id: 1,
      name: 'ann',
      role: 'customer',
      key: { id: 1, name: 'k', models: allowedModels },
    })
  const fault = await errorFrom(() => stage.handle?.(exchange, noNext))
  if (fault) return fault
  t.equal(stage.answers, true)
  return JSON.parse((await readReply(exchange.requireReply())).text) as Json
}

t.test('model list in openai: lists models, or shows one with its endpoints', async t => {
  t.same(await read({ list: 'openai' }), {
    object: 'list',
    success: true,
    data: [
      {
        id: 'gp-4.1',
        object: 'model',
        created: 1_626_777_600,
        owned_by: 'us',
        supported_endpoint_types: ['openai', 'openai-response', 'anthropic', 'gemini'],
      },
      {
        id: 'cl-x',
        object: 'model',
        created: 1_626_777_600,
        owned_by: 'cl',
        supported_endpoint_types: ['anthropic', 'openai', 'openai-response', 'gemini'],
      },
      {
        id: 'gx-2',
        object: 'model',
        created: 1_626_777_600,
        owned_by: 'gx',
        supported_endpoint_types: [
          'openai',
          'openai-response',
          'anthropic',
          'gemini',
          'embeddings',
        ],
      },
    ],
  })
  const one = { list: 'openai', one: 'model' } as const
  t.match(await read(one, { params: { model: 'gp-4.1' } }), { id: 'gp-4.1', object: 'model' })
  t.match(await read(one, { params: { model: 'o-1' } }), {
    supported_endpoint_types: ['openai-response'],
  })
  t.match(await read(one, { params: { model: 'f-1' } }), {
    supported_endpoint_types: ['anthropic', 'openai', 'openai-response', 'gemini'],
  })
  t.match(await read(one, { params: { model: 'n-1' } }), { supported_endpoint_types: [] })
  t.match(await read(one, { params: { model: 'cl-any' } }), { id: 'cl-any', owned_by: 'cl' })
  t.match(await read(one, { params: { model: 'nope' } }), { code: 'MODEL_UNKNOWN', status: 404 })
})

t.test(
  'model list: shows a model with aliases once, to clients of Anthropic by the first',
  async t => {
    const ids = async (options: Options, headers = {}) => {
      const { data } = (await read(options, { headers })) as { data: { id: string }[] }
      return data.map(({ id }) => id)
    }
    t.same(await ids({ list: 'openai' }), ['gp-4.1', 'cl-x', 'gx-2'])
    const headers = { 'anthropic-version': '2023-06-01' }
    t.same(await ids({ list: 'openai' }, headers), ['gp-4.1', 'cl-x', 'gemini-2'])
    t.match(await read({ list: 'anthropic' }, { search: 'after_id=gemini-2' }), { data: [] })
    const one = { list: 'openai', one: 'model' } as const
    t.match(await read(one, { params: { model: 'gemini-2-001' } }), { id: 'gemini-2-001' })
    t.match(await read(one, { params: { model: 'gemini-2-001' } }, ['gx-2']), { owned_by: 'gx' })
    t.match(await read(one, { params: { model: 'gemini-2' } }, ['cl-x']), {
      code: 'MODEL_FORBIDDEN',
    })
    t.match(await read(one, { params: { model: 'gemini-3' } }), {
      code: 'MODEL_UNKNOWN',
      message: /Did you mean 'gemini-2'\?$/,
    })
    t.match(await read(one, { params: { model: 'gemini-3' } }, ['cl-x']), {
      message: /do not have access to it\.$/,
    })
  },
)

t.test('model list in anthropic: is paged by after_id, before_id and limit', async t => {
  const page = (search: string) => read({ list: 'anthropic' }, { search })
  t.same(await page('limit=1'), {
    data: [
      {
        type: 'model',
        id: 'gp-4.1',
        display_name: 'GP 4.1',
        created_at: '2021-07-20T10:40:00.000Z',
      },
    ],
    first_id: 'gp-4.1',
    last_id: 'gp-4.1',
    has_more: true,
  })
  t.match(await page('limit=1&after_id=gp-4.1'), { first_id: 'cl-x', has_more: true })
  t.match(await page('after_id=gx-2'), { data: [], first_id: null, last_id: null, has_more: false })
  t.match(await page('before_id=gx-2&limit=1'), { data: [{ id: 'cl-x' }], has_more: true })
  for (const limit of ['0', '-1', '1001', '1e9', 'x', '1.5', ''])
    t.match(await page(`limit=${limit}`), { status: 400, param: 'limit' }, `limit=${limit}`)
})

t.test('model list in google: is paged by pageToken and pageSize', async t => {
  const page = (search: string) => read({ list: 'google' }, { search })
  t.same(await page('pageSize=1'), {
    models: [
      {
        name: 'models/gp-4.1',
        version: '001',
        displayName: 'GP 4.1',
        inputTokenLimit: 1_000,
        outputTokenLimit: 100,
        supportedGenerationMethods: ['generateContent'],
      },
    ],
    nextPageToken: 'gp-4.1',
  })
  for (const size of ['0', '50', '1000000'])
    t.match(await page(`pageSize=${size}`), { models: { length: 3 } }, `pageSize=${size}`)
  for (const size of ['-1', '1e9', 'x', '1.5', ''])
    t.match(await page(`pageSize=${size}`), { status: 400, param: 'pageSize' }, `pageSize=${size}`)
  t.match(await read({ list: 'google', one: 'model' }, { params: { model: 'e-1' } }), {
    supportedGenerationMethods: ['embedContent'],
  })
  t.match(
    await read({ list: 'google', one: 'model' }, { params: { model: 'o-1' } }),
    { code: 'MODEL_NOT_HERE', status: 404 },
    'no native method serves it',
  )
  const last = (await page('pageSize=5&pageToken=gp-4.1')) as { nextPageToken?: string }
  t.match(last, { models: [{ name: 'models/cl-x' }, { name: 'models/gx-2' }] })
  t.equal(last.nextPageToken, undefined)
})

t.test('model list: picks the dialect by the client’s headers', async t => {
  const as = (headers: Readonly<Record<string, string>>, list: 'openai' | 'google' = 'openai') =>
    read({ list }, { headers })
  t.match(await as({ 'anthropic-version': '2023-06-01' }), { first_id: 'gp-4.1' })
  t.match(await as({ 'x-goog-api-key': 'k' }), { models: [{ name: 'models/gp-4.1' }] })
  t.match(await as({ 'x-api-key': 'k' }), { object: 'list' })
  t.match(
    await as({ 'anthropic-version': '1' }, 'google'),
    { models: [{}] },
    'a google route stays google',
  )
})

t.test('model list: a key with a model list gets only its models', async t => {
  t.match(await read({ list: 'openai' }, {}, ['gx-2']), { data: [{ id: 'gx-2' }] })
  t.match(await read({ list: 'openai' }, {}, []), { data: [] })
  const one = { list: 'openai', one: 'model' } as const
  t.match(await read(one, { params: { model: 'gp-4.1' } }, ['gx-2']), { code: 'MODEL_FORBIDDEN' })
})
