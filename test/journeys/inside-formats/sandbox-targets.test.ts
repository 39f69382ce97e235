/** The sandbox in formats that only targets use: clients of other formats get texts, thoughts and
 *  calls, plain and streamed. */
import OpenAI from 'openai'
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'

const FORMATS = ['bedrock-converse', 'cohere-chat']
const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors, model, translate, sandbox, adapt]
upstreams:
${FORMATS.map(name => `  ${name}: { url: 'sandbox:', formats: [${name}] }\n`).join('')}
models:
${FORMATS.map(name => `  ${name}: { to: ${name}/m }\n`).join('')}
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
`,
})
t.teardown(() => gateway.stop())
const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'k', maxRetries: 0 })
const parameters = { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] }
const tools = [{ type: 'function' as const, function: { name: 'get', parameters } }]

type Request = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'stream'>
const ask = async (request: Request, stream: boolean) => {
  const answer = stream
    ? await openai.chat.completions.stream(request).finalChatCompletion()
    : await openai.chat.completions.create(request)
  return { choice: answer.choices[0], usage: answer.usage }
}

for (const model of FORMATS)
  for (const stream of [false, true])
    t.test(`sandbox: ${model}, ${stream ? 'streamed' : 'plain'}`, async t => {
      const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'hello you' }]
      const include = stream && { stream_options: { include_usage: true } }
      const { choice, usage } = await ask({ model, messages, ...include }, stream)
      t.match(choice, {
        finish_reason: 'stop',
        message: { content: /sandbox answering as m.*"hello you"/ },
      })
      t.ok((usage?.prompt_tokens ?? 0) > 0 && (usage?.completion_tokens ?? 0) > 0)
      const short = await ask({ model, messages, max_completion_tokens: 3 }, stream)
      t.equal(short.choice?.finish_reason, 'length')
      const thinking = await ask({ model, messages, reasoning_effort: 'low' }, stream)
      t.match(JSON.stringify(thinking.choice?.message), 'reasoning_content')
      const called = await ask({ model, messages, tools, tool_choice: 'required' }, stream)
      const [call] = called.choice?.message.tool_calls ?? []
      t.equal(called.choice?.finish_reason, 'tool_calls')
      t.match(call, { type: 'function', function: { name: 'get', arguments: /"x"/ } })
      if (!call) return
      messages.push({ role: 'assistant', tool_calls: [call] })
      messages.push({ role: 'tool', tool_call_id: call.id, content: 'seven' })
      const afterCall = await ask({ model, messages, tools }, stream)
      t.match(afterCall.choice?.message.content, 'The tool answered: "seven"')
      const image = { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,AAAA' } }
      const described = await ask({ model, messages: [{ role: 'user', content: [image] }] }, stream)
      t.match(described.choice?.message.content, /I see an (?:inline PNG )?image/)
      const form = { type: 'json_schema' as const, json_schema: { name: 'a', schema: parameters } }
      const json = await ask({ model, messages, response_format: form }, stream)
      t.type(JSON.parse(json.choice?.message.content ?? '').x, 'number')
    })
