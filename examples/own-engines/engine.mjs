/** A stand-in for an engine such as vLLM: node examples/own-engines/engine.mjs PORT NAME…
 *  It lists the models of these names and answers for them. */
import { createServer } from 'node:http'

const [port, ...names] = process.argv.slice(2)
const server = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  console.log(request.method, request.url, text)
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(request.method === 'GET' ? LIST : completionOf(JSON.parse(text))))
})
server.listen(Number(port), '127.0.0.1', () => console.log('listens on', server.address().port))

const LIST = {
  object: 'list',
  data: names.map(id => ({ id, object: 'model', owned_by: 'vllm', max_model_len: 32_768 })),
}
const completionOf = ({ model }) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_770_000_000,
  model,
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: `Hello from ${model}.` },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
})
