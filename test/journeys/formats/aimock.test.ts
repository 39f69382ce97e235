/** A third-party mock of the providers (aimock) as the upstream: it accepts our requests, and its
 *  answers pass every pair of formats. */
import { LLMock } from '@copilotkit/aimock'
import t from 'tap'
import { startGateway } from '../../helpers/gateway.ts'
import { FORMATS, short } from '../../helpers/matrix.ts'
import { sdkClients } from '../../helpers/sdks.ts'

const mock = new LLMock({ port: 0 })
mock.onMessage('Hello', { content: 'Hello from a third party, ünïcödé included.' })
await mock.start()
const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors, model, translate]
upstreams:
${FORMATS.map(name => `  ${short(name)}: { url: '${mock.url}', key: k, formats: [${name}] }`).join('\n')}
models:
${FORMATS.map(name => `  to-${short(name)}: { to: ${short(name)}/model-of-theirs, free: true }`).join('\n')}
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/responses, model: body, translate: openai-responses, errors: openai }
  - { path: POST /v1/messages, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: 'POST /{version}/models/{model}:generateContent', model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /{version}/models/{model}:streamGenerateContent', model: { path: model }, translate: google-gemini, errors: google }
`,
})
t.teardown(async () => {
  await gateway.stop()
  await mock.stop()
})

for (const [name, client] of Object.entries(sdkClients(gateway.url, 'k', 'v1beta')))
  for (const target of FORMATS)
    for (const stream of [false, true])
      t.test(
        `aimock: ${name} client reads ${target}, ${stream ? 'streamed' : 'plain'}`,
        async t => {
          const read = await client(`to-${short(target)}`, stream)
          t.match(read, {
            text: 'Hello from a third party, ünïcödé included.',
            finish: 'end',
            calls: [],
          })
        },
      )
