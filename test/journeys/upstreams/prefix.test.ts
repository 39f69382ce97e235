/** `balance: prefix` with engines that are processes of their own and keep their prompts. */
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { postTo } from '../../helpers/gateway/post.ts'
import { startProviderProcess } from '../../helpers/gateway/provider-process.ts'

/** Answers with its name and whether it has seen the first message before, as an engine caches. */
const ENGINE = `
const { createServer } = require('node:http')
const known = new Set()
createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  const { messages, stream } = JSON.parse(text)
  const content = process.argv[1] + (known.has(messages[0].content) ? '-hit' : '-miss')
  known.add(messages[0].content)
  const base = { id: 'c', created: 1, model: 'm' }
  response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
  response.end(stream
    ? 'data: ' + JSON.stringify({ ...base, object: 'chat.completion.chunk',
        choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }] }) + '\\n\\ndata: [DONE]\\n\\n'
    : JSON.stringify({ ...base, object: 'chat.completion',
        choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }))
}).listen(0, '127.0.0.1', function () { console.log(this.address().port) })
`
const CLIENTS = {
  chat: (texts: readonly string[]) => ({
    messages: texts.map(content => ({ role: 'user', content })),
  }),
  messages: (texts: readonly string[]) => ({
    max_tokens: 9,
    messages: texts.map(content => ({ role: 'user', content })),
  }),
  responses: (texts: readonly string[]) => ({
    input: texts.map(content => ({ role: 'user', content })),
  }),
}
const PATHS = { chat: '/v1/chat/completions', messages: '/v1/messages', responses: '/v1/responses' }

t.test('balance prefix: each conversation meets the engine that has its prompt', async t => {
  const [a, b] = [
    await startProviderProcess(t, ENGINE, ['a']),
    await startProviderProcess(t, ENGINE, ['b']),
  ]
  const gateway = await startGateway({
    env: { WORKERS: '2' },
    routes: `
pipeline: [errors, model, translate]
upstreams:
  own: { url: ['${a.url}', '${b.url}'], formats: [openai-chat] }
models: { any: { to: own/m, balance: prefix, free: true } }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat }
  - { path: POST /v1/messages, model: body, translate: anthropic-messages }
  - { path: POST /v1/responses, model: body, translate: openai-responses }
`,
  })
  t.teardown(() => gateway.stop())
  const ask = async (client: keyof typeof CLIENTS, stream: boolean, texts: readonly string[]) => {
    const response = await postTo(
      gateway.url + PATHS[client],
      { model: 'any', stream, ...CLIENTS[client](texts) },
      { connection: 'close' },
    )
    return /\b([ab]-(?:hit|miss))/.exec(await response.text())?.[1] ?? String(response.status)
  }
  const engines = new Set<string>()
  for (const client of Object.keys(CLIENTS) as (keyof typeof CLIENTS)[])
    for (const stream of [false, true])
      for (let talk = 0; talk < 6; talk++) {
        const first = `${client} ${stream} ${talk} `.repeat(200)
        const [name = ''] = (await ask(client, stream, [first])).split('-')
        engines.add(name)
        // Either worker may get the next calls.
        for (let turn = 0; turn < 2; turn++)
          t.equal(await ask(client, stream, [first, 'and', String(turn)]), `${name}-hit`)
      }
  t.same(engines, new Set(['a', 'b']))
})
