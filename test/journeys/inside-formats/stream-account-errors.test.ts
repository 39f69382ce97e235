/** Error events in the middle of streams that pass through: clients read nothing of the gateway's
 *  account at the upstream, and every other error as it was sent. */
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'

/** Bytes of the stream that the upstream sends, and how many of them at a time. */
let sse = ''
let piece = 0
const url = await startHttpUpstream(t, async (request, response) => {
  for await (const _ of request);
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (let at = 0; at < sse.length; at += piece) {
    response.write(sse.slice(at, at + piece))
    await new Promise(resolve => setImmediate(resolve))
  }
  response.end()
})
const FORMATS = ['openai-chat', 'openai-responses', 'anthropic-messages', 'google-gemini'] as const
const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors, model, translate]
upstreams:
${FORMATS.map(format => `  ${format}: { url: '${url}', key: k, formats: [${format}] }\n`).join('')}
models:
${FORMATS.map(format => `  ${format}: { to: ${format}/m, free: true }\n`).join('')}
routes:
  - { path: POST /openai-chat, model: body, translate: openai-chat, errors: openai }
  - { path: POST /openai-responses, model: body, translate: openai-responses, errors: openai }
  - { path: POST /anthropic-messages, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: 'POST /v1beta/models/{model}:streamGenerateContent', model: { path: model }, translate: google-gemini, errors: google }
`,
})
t.teardown(() => gateway.stop())

const event = (data: object, name = ''): string =>
  `${name && `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`
const QUOTA = {
  message: 'You exceeded your current quota, please check the plan of org-Secret42.',
  type: 'insufficient_quota',
  code: 'insufficient_quota',
}
const FILTERED = {
  message: 'The text was filtered.',
  type: 'invalid_request_error',
  code: 'content_filter',
}
const response = {
  id: 'r',
  object: 'response',
  status: 'in_progress',
  output: [],
  error: null,
}
/** The beginning of a stream, and its errors about the account and about the request. */
const STREAMS: Readonly<
  Record<(typeof FORMATS)[number], readonly [string, readonly string[], string]>
> = {
  'openai-chat': [
    event({ id: 'c', choices: [{ index: 0, delta: { content: 'an error' } }] }),
    [event({ error: QUOTA })],
    event({ error: FILTERED }),
  ],
  'openai-responses': [
    event({ type: 'response.created', sequence_number: 0, response }, 'response.created') +
      event(
        { type: 'response.output_text.delta', sequence_number: 1, item_id: 'm', delta: 'hi' },
        'response.output_text.delta',
      ),
    [
      event({ sequence_number: 1, ...QUOTA, type: 'error' }, 'error'),
      event(
        {
          type: 'response.failed',
          sequence_number: 1,
          response: { ...response, status: 'failed', error: QUOTA },
        },
        'response.failed',
      ),
    ],
    event({ sequence_number: 1, ...FILTERED, type: 'error' }, 'error'),
  ],
  'anthropic-messages': [
    event({ type: 'message_start', message: { id: 'm', content: [] } }, 'message_start') +
      event(
        {
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'text_delta', text: 'hi' },
        },
        'content_block_delta',
      ),
    [
      event(
        {
          type: 'error',
          error: {
            type: 'rate_limit_error',
            message: "This request would exceed your organization's rate limit (org-Secret42).",
          },
        },
        'error',
      ),
      event(
        { type: 'error', error: { type: 'billing_error', message: 'Pay for org-Secret42.' } },
        'error',
      ),
    ],
    event(
      { type: 'error', error: { type: 'invalid_request_error', message: 'too long' } },
      'error',
    ),
  ],
  'google-gemini': [
    event({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'hi' }] } }] }),
    [
      event({
        error: {
          code: 429,
          status: 'RESOURCE_EXHAUSTED',
          message: 'You exceeded your current quota, org-Secret42.',
        },
      }),
      event({
        error: {
          code: 403,
          status: 'PERMISSION_DENIED',
          message: 'Billing is off for org-Secret42.',
          details: [{ reason: 'BILLING_DISABLED' }],
        },
      }),
    ],
    event({ error: { code: 400, status: 'INVALID_ARGUMENT', message: 'too long' } }),
  ],
}

const read = async (format: string): Promise<string> => {
  const path =
    format === 'google-gemini' ? `v1beta/models/${format}:streamGenerateContent?alt=sse` : format
  const reply = await fetch(`${gateway.url}/${path}`, {
    method: 'POST',
    body: JSON.stringify({
      model: format,
      stream: true,
      max_tokens: 9,
      messages: [],
      input: 'x',
      contents: [],
    }),
  })
  return reply.text()
}
for (const format of FORMATS)
  t.test(`stream errors: ${format} has no text about the gateway's account`, async t => {
    const [beginning, account, honest] = STREAMS[format]
    for (const error of account)
      for (piece of [9, 100_000]) {
        sse = beginning + error
        const text = await read(format)
        t.ok(text.startsWith(beginning.slice(0, 40)), 'what came before')
        t.match(text, /The upstream (?:accepts no more requests|rejects the gateway's API key)/)
        t.notMatch(text, /Secret42|quota|billing/i)
        t.equal(text.split('The upstream ').length, 2, 'one error')
      }
    sse = beginning + honest
    t.ok((await read(format)).endsWith(honest), 'an error of the request, byte for byte')
  })
