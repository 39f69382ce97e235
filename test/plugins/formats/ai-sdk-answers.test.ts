/** The providers of the AI SDK read translated answers. Their schemas take what providers send,
 *  which is less than the types of the official SDKs allow. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import t from 'tap'
import { recordedFormat, recordings } from '../../helpers/formats/recordings.ts'
import { JSON_TYPE, SSE, translateAttempt } from '../../helpers/formats/translation.ts'
import type { UpstreamReply } from '../../helpers/gateway/fake-exchange.ts'

type Fetch = typeof globalThis.fetch
const OPTIONS = { apiKey: 'k', baseURL: 'http://gateway/v1' }
const CLIENTS = {
  'openai-chat': (fetch: Fetch) => createOpenAI({ ...OPTIONS, fetch }).chat('asked'),
  'openai-responses': (fetch: Fetch) => createOpenAI({ ...OPTIONS, fetch }).responses('asked'),
  'anthropic-messages': (fetch: Fetch) => createAnthropic({ ...OPTIONS, fetch })('asked'),
  'google-gemini': (fetch: Fetch) =>
    createGoogleGenerativeAI({ ...OPTIONS, baseURL: 'http://gateway/v1beta', fetch })('asked'),
} as const
type Client = keyof typeof CLIENTS
const NAMES = Object.keys(CLIENTS) as Client[]
const CALL = { prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }] } as never

/** A client whose requests are answered by translations of this reply of `target`. */
const clientOf = (client: Client, target: string, upstreamReply: UpstreamReply) =>
  CLIENTS[client](async (input, init) => {
    const { pathname, search } = new URL(String(input))
    const attempt = await translateAttempt({
      client,
      target,
      body: JSON.parse(String(init?.body)),
      path: pathname + search,
      upstreamReply,
    })
    if (attempt.fault) throw attempt.fault
    const type = String(attempt.reply?.headers['content-type'])
    return new Response(attempt.output?.text, { headers: { 'content-type': type } })
  })
/** The content that the client reads, by type; errors of a stream are thrown. */
const read = async (
  client: Client,
  target: string,
  body: string,
  isStream: boolean,
): Promise<readonly string[]> => {
  const upstreamReply = { status: 200, headers: isStream ? SSE : JSON_TYPE, body }
  const model = clientOf(client, target, upstreamReply)
  if (!isStream) return (await model.doGenerate(CALL)).content.map(({ type }) => type)
  const types: string[] = []
  for await (const part of (await model.doStream(CALL)).stream) {
    if (part.type === 'error') throw part.error
    types.push(part.type)
  }
  return types
}

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
const toolCall = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }
const answerWith = (message: object) =>
  JSON.stringify({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', ...message },
        finish_reason: 'stop',
        logprobs: null,
      },
    ],
    usage,
  })

for (const client of NAMES)
  t.test(`AI SDK: ${client} reads a text and a call of a chat target`, async t => {
    const text = answerWith({ content: 'Hello.', refusal: null })
    t.same(await read(client, 'openai-chat', text, false), ['text'])
    const call = answerWith({ content: null, tool_calls: [toolCall] })
    t.ok((await read(client, 'openai-chat', call, false)).includes('tool-call'))
  })

/** Answers that no client of this SDK gets: queued ones of the background, calls of a tool for free
 *  text, and those that end in an error before any content, where the attempt fails. */
const UNASKED: ReadonlySet<string> = new Set([
  'rec-0162',
  'rec-0164',
  'rec-0275',
  'rec-0276',
  'rec-0277',
  'rec-0345',
])
const recorded = (recordings() ?? []).flatMap(({ id, format, stream, status, response_body }) => {
  const target = status === 200 ? recordedFormat(format) : undefined
  return target && NAMES.includes(target as Client) && !UNASKED.has(id)
    ? [{ id, target, stream, body: response_body }]
    : []
})
for (const client of NAMES)
  t.test(
    `AI SDK: ${client} reads every recorded answer of other formats`,
    { skip: recorded.length === 0 && 'RECORDINGS is not set' },
    async t => {
      const errors: string[] = []
      let answers = 0
      for (const { id, target, stream, body } of recorded) {
        if (target === client) continue
        answers++
        await read(client, target, body, stream).catch(error =>
          errors.push(`${id} of ${target}: ${String(error?.message ?? error).slice(0, 300)}`),
        )
      }
      t.same(errors, [])
      t.ok(answers > 100, `${answers} answers`)
    },
  )
