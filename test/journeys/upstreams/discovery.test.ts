/** `discover` of a model: vLLM, Ollama and llama.cpp as processes that list their models. */
import t from 'tap'
import { freePort } from '../../helpers/free-port.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { postChat } from '../../helpers/gateway/post.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startProviderProcess } from '../../helpers/gateway/provider-process.ts'

/** `kind`: how it lists the models of the further arguments, compressed without being asked. PUT
 *  sets them. Answers with the name of the model. */
const ENGINE = `
const { createServer } = require('node:http')
const zlib = require('node:zlib')
const [kind, port, ...first] = process.argv.slice(1)
let models = first
const CODINGS = { vllm: ['gzip', zlib.gzipSync], ollama: ['br', zlib.brotliCompressSync],
  llama: ['zstd', zlib.zstdCompressSync] }
const LISTS = {
  vllm: { path: '/v1/models', list: () => ({ object: 'list',
    data: models.map(id => ({ id, object: 'model', owned_by: 'vllm', max_model_len: 32768 })) }) },
  ollama: { path: '/api/tags', list: () => ({
    models: models.map(name => ({ name, model: name, details: { family: 'llama' } })) }) },
  llama: { path: '/v1/models', list: () => ({ models: models.map(name => ({ name })), object: 'list',
    data: models.map(id => ({ id, object: 'model', meta: { n_ctx_train: 131072, n_vocab: 1,
      ...(id.startsWith('served') && { n_ctx: 8192 }) } })) }) },
}
createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  const { path, list } = LISTS[kind]
  if (request.method === 'PUT') { models = JSON.parse(text); return response.end() }
  if (request.method === 'GET') {
    const [coding, encode] = CODINGS[kind]
    response.writeHead(request.url === path ? 200 : 404,
      { 'content-type': 'application/json', 'content-encoding': coding })
    return response.end(encode(request.url === path ? JSON.stringify(list()) : '{"error":"no"}'))
  }
  const { model } = JSON.parse(text)
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model,
    choices: [{ index: 0, message: { role: 'assistant', content: 'I am ' + model }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }))
}).listen(Number(port), '127.0.0.1', function () { console.log(this.address().port) })
`
const startEngine = (kind: string, port: number, ...models: readonly string[]) =>
  startProviderProcess(t, ENGINE, [kind, port, ...models])

t.test('discovery: the gateway serves and lists what its engines have', async t => {
  const port = await freePort()
  const vllm = await startEngine('vllm', 0, 'Qwen/Qwen3-32B', 'base')
  const ollama = await startEngine('ollama', 0, 'llama3:8b')
  const gateway = await startGateway({
    env: { WORKERS: '1' },
    routes: `
pipeline: [errors, model, translate]
upstreams:
  vllm: { url: '${vllm.url}/v1', formats: [openai-chat] }
  ollama: { url: '${ollama.url}', formats: [openai-chat] }
  llama: { url: 'http://127.0.0.1:${port}/v1', formats: [openai-chat] }
models:
  own/*: { to: vllm/*, discover: { every: 1s, grace: 1s }, free: true }
  o-*: { to: ollama/*, discover: { every: 1s }, free: true }
  l-*: { to: llama/*, discover: { every: 1h }, free: true, owner: lab }
  named: { to: vllm/base, free: true }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
  - { path: GET /v1/models, model: { list: openai } }
  - { path: 'GET /v1/models/{name}', model: { list: openai, one: name }, errors: openai }
  - { path: GET /v1beta/models, model: { list: google } }
  - { path: 'POST /v1beta/models/{model}:generateContent', model: { path: model }, translate: google-gemini }
`,
  })
  t.teardown(() => gateway.stop())
  const get = async (path: string) => (await (await fetch(gateway.url + path)).json()) as never
  const list = async (): Promise<readonly { readonly id: string }[]> =>
    ((await get('/v1/models')) as { readonly data: readonly { readonly id: string }[] }).data
  const names = async () => (await list()).map(({ id }) => id)
  const ask = async (model: string) => {
    const response = await postChat(gateway.url, model)
    const body = await response.text()
    const { error } = JSON.parse(body) as { readonly error?: { readonly message: string } }
    return `${response.status} ${/"content":"([^"]+)"/.exec(body)?.[1] ?? error?.message}`
  }
  await eventually(async () => (await names()).length === 4)
  t.same(await names(), ['named', 'own/Qwen/Qwen3-32B', 'own/base', 'o-llama3:8b'])
  t.equal(await ask('own/Qwen/Qwen3-32B'), '200 I am Qwen/Qwen3-32B')
  t.equal(await ask('o-llama3:8b'), '200 I am llama3:8b')
  t.match(await ask('own/Qwen/Qwen3-32b'), /^404 .*Did you mean 'own\/Qwen\/Qwen3-32B'\?/)
  t.match(await list(), [
    { id: 'named', owned_by: 'vllm' },
    { id: 'own/Qwen/Qwen3-32B', owned_by: 'vllm', max_model_len: 32_768 },
    { id: 'own/base' },
    { id: 'o-llama3:8b', owned_by: 'ollama' },
  ])

  // The third engine was away at the start, and is asked until it answers.
  t.match(await ask('l-any'), /^502 /, 'an engine that is not known yet decides itself')
  await startEngine('llama', port, 'gemma.gguf', 'served.gguf')
  await eventually(async () => (await names()).includes('l-gemma.gguf'))
  t.match(await ask('l-any'), /^404 .*does not exist/)
  t.match(await get('/v1/models/l-gemma.gguf'), { owned_by: 'lab', max_model_len: 131_072 })
  t.match(await get('/v1/models/l-served.gguf'), { max_model_len: 8192 }, 'what one request gets')
  const google = ((await get('/v1beta/models')) as { models: readonly object[] }).models
  t.match(google.slice(-2), [
    { name: 'models/l-gemma.gguf', inputTokenLimit: 131_072 },
    { name: 'models/l-served.gguf', inputTokenLimit: 8192 },
  ])

  await fetch(vllm.url, { method: 'PUT', body: JSON.stringify(['base', 'new']) })
  await eventually(async () => (await names()).includes('own/new'))
  await eventually(async () => !(await names()).includes('own/Qwen/Qwen3-32B'))
  t.match(await ask('own/Qwen/Qwen3-32B'), /^404 /)
  t.equal(await ask('own/new'), '200 I am new')

  vllm.kill()
  await eventually(async () => (await ask('own/base')).startsWith('502'))
  t.ok((await names()).includes('own/base'), 'an engine that is away keeps its models')
})
