/** `health.probe`: an ejected address is probed by the gateway alone. Engines are processes. */
import t, { type Test } from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { postChat } from '../../helpers/gateway/post.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startProviderProcess } from '../../helpers/gateway/provider-process.ts'

/** Answers with its name. PUT sets the status of everything; DELETE shows what came. */
const ENGINE = `
const { createServer } = require('node:http')
const [name, port = 0, first = 200] = process.argv.slice(1)
let status = Number(first)
const seen = []
createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  if (request.method === 'PUT') status = Number(text)
  if (request.method === 'PUT' || request.method === 'DELETE') return response.end(JSON.stringify(seen))
  seen.push([status, request.method, request.url, request.headers.authorization ?? '', text].join(' '))
  response.writeHead(status, { 'content-type': 'application/json' })
  const message = { role: 'assistant', content: name }
  response.end(JSON.stringify(status === 200 ? { id: 'c', object: 'chat.completion', created: 1, model: 'm',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } } : { error: { message: 'loading' } }))
}).listen(Number(port), '127.0.0.1', function () { console.log(this.address().port) })
`
const startEngine = async (t: Test, name: string, port = 0, status = 200) => {
  const engine = await startProviderProcess(t, ENGINE, [name, port, status])
  return {
    ...engine,
    setStatus: (code: number) => fetch(engine.url, { method: 'PUT', body: String(code) }),
    seen: async () =>
      (await (await fetch(engine.url, { method: 'DELETE' })).json()) as readonly string[],
  }
}
const serve = async (t: Test, own: string, spare: string, probe: string) => {
  const gateway = await startGateway({
    env: { WORKERS: '1' },
    routes: `
pipeline: [errors, model, translate]
upstreams:
  own: { url: '${own}/v1', key: k, formats: [openai-chat], health: { failures: 1, eject: 100ms, probe: ${probe} } }
  spare: { url: '${spare}/v1', formats: [openai-chat] }
models: { any: { to: [own/m, spare/m], retry_on: [500, 503], free: true } }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat }
`,
  })
  t.teardown(() => gateway.stop())
  return async () => {
    const response = await postChat(gateway.url, 'any')
    return /"content":"(\w+)"/.exec(await response.text())?.[1] ?? String(response.status)
  }
}

t.test('probes: no client finds out whether an address works again', async t => {
  const [own, spare] = [await startEngine(t, 'own'), await startEngine(t, 'spare')]
  const ask = await serve(t, own.url, spare.url, '/v1/models')
  t.equal(await ask(), 'own')
  t.same((await own.seen()).length, 1, 'a healthy address is not probed')
  await own.setStatus(503)
  t.equal(await ask(), 'spare')
  const isProbe = (line: string) => line === '503 GET /v1/models Bearer k '
  await eventually(async () => (await own.seen()).filter(isProbe).length >= 3)
  for (let call = 0; call < 5; call++) t.equal(await ask(), 'spare')
  const calls = (await own.seen()).filter(line => line.startsWith('503 POST'))
  t.equal(calls.length, 1, 'the call that ejected it')
  await own.setStatus(404)
  // A server without a list of models works, too.
  await eventually(async () => (await own.seen()).some(line => line.startsWith('404 GET')))
  await own.setStatus(200)
  await eventually(async () => (await ask()) === 'own')
})

t.test('probes: a request warms an engine up before clients meet it', async t => {
  const [own, spare] = [await startEngine(t, 'own', 0, 500), await startEngine(t, 'spare')]
  const probe = '{ path: /v1/chat/completions, body: { model: m, max_tokens: 1 } }'
  const ask = await serve(t, own.url, spare.url, probe)
  t.equal(await ask(), 'spare')
  await own.setStatus(200)
  await eventually(async () => (await ask()) === 'own')
  const lines = (await own.seen()).filter(line => line.startsWith('200'))
  t.equal(
    lines[0],
    '200 POST /v1/chat/completions Bearer k {"model":"m","max_tokens":1}',
    'first the warm-up',
  )
  t.match(lines[1], /^200 POST .*"messages"/)
})

t.test('probes: an ejected engine gets requests again after its restart', async t => {
  const [own, spare] = [await startEngine(t, 'own'), await startEngine(t, 'spare')]
  const ask = await serve(t, own.url, spare.url, '/v1/models')
  t.equal(await ask(), 'own')
  own.kill()
  await eventually(async () => (await ask()) === 'spare')
  const again = await startEngine(t, 'again', own.port)
  await eventually(async () => (await ask()) === 'again')
  t.match((await again.seen())[0], /^200 GET \/v1\/models/)
})
