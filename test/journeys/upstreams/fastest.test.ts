/** `balance: fastest` of a model with upstreams that are processes of their own. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { postTo } from '../../helpers/gateway/post.ts'

/** Streams its name after so many ms. The role comes at once, and is not content. */
const SOURCE = `
const { createServer } = require('node:http')
const [name, wait] = process.argv.slice(1)
const event = delta => 'data: ' + JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1,
  model: 'm', choices: [{ index: 0, delta, finish_reason: delta.content ? 'stop' : null }] }) + '\\n\\n'
createServer((request, response) => {
  request.resume()
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(event({ role: 'assistant' }))
  setTimeout(() => response.end(event({ content: name }) + 'data: [DONE]\\n\\n'), Number(wait))
}).listen(0, '127.0.0.1', function () { console.log(this.address().port) })
`
const startProcess = async (name: string, wait: number): Promise<string> => {
  const child = spawn(process.execPath, ['-e', SOURCE, name, String(wait)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill())
  for await (const line of createInterface(child.stdout)) return `http://127.0.0.1:${line}`
  throw new Error('the upstream did not start')
}

t.test('balance fastest: calls go to the upstream whose content begins first', async t => {
  const [slow, fast] = [await startProcess('slow', 300), await startProcess('fast', 0)]
  const gateway = await startGateway({
    env: { WORKERS: '1' },
    routes: `
pipeline: [errors, model, translate]
upstreams:
  slow: { url: '${slow}', formats: [openai-chat] }
  fast: { url: '${fast}', formats: [openai-chat] }
models: { any: { to: [slow/m, fast/m], balance: fastest, free: true } }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat }
`,
  })
  t.teardown(() => gateway.stop())
  const ask = async (): Promise<string> => {
    const response = await postTo(`${gateway.url}/v1/chat/completions`, {
      model: 'any',
      stream: true,
      messages: [{ role: 'user', content: 'x' }],
    })
    return /"content":"(\w+)"/.exec(await response.text())?.[1] ?? String(response.status)
  }
  const askMany = (count: number) => Promise.all(Array.from({ length: count }, ask))
  const first = await askMany(40)
  t.equal(first.filter(name => name === 'slow').length, 20, 'in turn while too little is known')
  t.same(new Set(await askMany(20)), new Set(['fast']))
})
