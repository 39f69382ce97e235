/** A stand-in for a provider with OpenAI's API: node examples/provider.mjs PORT [STATUS]
 *  It answers in chat completions and in responses, or refuses all with STATUS, and prints each
 *  request. */
import { createServer } from 'node:http'

const [port, status] = process.argv.slice(2).map(Number)
const server = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  console.log(request.method, request.url, text)
  response.writeHead(status ?? 200, { 'content-type': 'application/json' })
  const { model } = JSON.parse(text)
  const answer = request.url.endsWith('/responses') ? responseOf(model) : completionOf(model)
  response.end(JSON.stringify(status ? { error: { message: 'Out of order' } } : answer))
})
server.listen(port, '127.0.0.1', () => console.log('listens on', server.address().port))

const completionOf = model => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_770_000_000,
  model,
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: `Hello from ${model}.`, refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
})
const responseOf = model => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1_770_000_000,
  status: 'completed',
  model,
  output: [
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: `Hello from ${model}.`, annotations: [] }],
    },
  ],
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
})
