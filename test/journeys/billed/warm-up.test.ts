/** `warm_up` of an own engine whose models are discovered: a request of the gateway loads a model
 *  while customers are served elsewhere, and no customer pays for it. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { eventually } from '../../helpers/eventually.ts'
import { withOutput } from '../../helpers/gateway/command-line.ts'
import {
  configOf,
  gateway,
  postJson,
  prepareCustomer,
  rows,
  UNIT,
} from '../../helpers/money/billing-gateway.ts'

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const answer = (response: ServerResponse, model: string, content: string) => {
  const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ id: 'r', model, created: 1, choices, usage: USAGE }))
}
const startServer = async (
  respond: (url: string, body: Readonly<Record<string, unknown>>, response: ServerResponse) => void,
) => {
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    respond(request.url ?? '', JSON.parse(text || '{}'), response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

let listed = ['llama']
/** Requests for models that are not loaded wait, as in an engine. */
const loading: {
  readonly model: string
  readonly body: object
  readonly response: ServerResponse
}[] = []
const loaded = new Set<string>()
const load = (name: string) => {
  loaded.add(name)
  for (const { model, response } of loading) if (model === name) answer(response, name, 'own')
}
const own = await startServer((url, body, response) => {
  if (url === '/v1/models') {
    response.writeHead(200, { 'content-type': 'application/json' })
    return response.end(JSON.stringify({ data: listed.map(id => ({ id })) }))
  }
  const model = String(body.model)
  if (loaded.has(model)) return answer(response, model, 'own')
  return loading.push({ model, body, response })
})
const spare = await startServer((_, body, response) =>
  answer(response, String(body.model), 'spare'),
)
const ROUTES = `
include: [tollgate:presets.yaml]
pipeline: [errors, observe, auth, model, meter, translate, adapt]
upstreams:
  own: { preset: ollama, url: '${own}/v1', warm_up: true }
  spare: { url: '${spare}', formats: [openai-chat] }
models:
  'own/*': { to: own/*, fallback: small, discover: { every: 1s }, price: { input: 1 / 1k, output: 1 / 1k }, output: 100 }
  small: { to: spare/small, price: { input: 1 / 1k, output: 1 / 1k }, output: 100 }
routes:
  - { path: POST /v1/chat/completions, auth: key, model: body, translate: openai-chat }
`

t.test(
  'warm-up: customers of a discovered model meet it loaded, and pay for their calls',
  async t => {
    const { account, key } = await prepareCustomer(ROUTES, 1_000n * UNIT)
    let calls = 0
    const ask = async (model: string) => {
      const body = { model, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 10 }
      const { text, response, id } = await postJson(key, '/v1/chat/completions', body)
      if (response.status === 200) calls++
      return { id, status: response.status, place: /"content":"(\w+)"/.exec(text)?.[1] }
    }
    for (const name of ['llama', 'qwen']) {
      // A new model is found by the next look at the list.
      listed = [...new Set([...listed, name])]
      const { id } = await eventually(async () => {
        const first = await ask(`own/${name}`)
        return first.place === 'spare' && first
      })
      await eventually(async () => loading.some(({ model }) => model === name))
      for (let call = 0; call < 4; call++) t.match(await ask(`own/${name}`), { place: 'spare' })
      const requests = loading.filter(({ model }) => model === name)
      t.ok(requests.length <= 2, 'one in each worker')
      for (const { body } of requests)
        t.same(body, { model: name, max_tokens: 1, messages: [{ role: 'user', content: 'hello' }] })
      const status = await withOutput(t, ['upstreams'], { TOLLGATE_DATA: gateway.data })
      t.match(status.out, `ready, warming ${name}`)
      const printed = await eventually(async () => {
        const { out } = await withOutput(t, ['request', id], { TOLLGATE_DATA: gateway.data })
        return out.includes('skipped') && out
      })
      t.match(printed, /skipped +own\/\w+: it was warmed up by a request of the gateway/)
      load(name)
      await eventually(async () => {
        const results = [await ask(`own/${name}`), await ask(`own/${name}`)]
        return results.every(({ place }) => place === 'own')
      })
    }
    const folder = t.testdir({ 'body.json': JSON.stringify({ model: 'own/qwen', messages: [] }) })
    const words = [
      'explain',
      'POST',
      '/v1/chat/completions',
      '-b',
      `${folder}/body.json`,
      '-k',
      key,
    ]
    const explained = await withOutput(t, [...words, '-c', configOf(ROUTES)], {})
    t.match(explained.out, 'own/qwen (warmed up before), then spare/small')
    const charges = await rows(`SELECT state, amount FROM charges WHERE account = ${account}`)
    t.equal(charges.length, calls, 'each call of the customer has its charge, and nothing else')
    for (const charge of charges) t.match(charge, { state: 'settled', amount: 15_000_000 })
    const metrics = await eventually(async () => {
      const text = await (await gateway.askAdmin('/metrics')).text()
      return text.includes('tollgate_warm_ups_total') && text
    })
    t.match(metrics, /tollgate_warm_ups_total\{address="[^"]+",result="answered"\} [1-4]/)
  },
)
