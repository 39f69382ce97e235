/** Agent command lines, unmodified, run a loop of two steps through the gateway on every target
 *  format: the model calls their shell, and reads its result. */
import { join } from 'node:path'
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { LONG } from '../../helpers/run-settings.ts'
import { AGENTS, install, runAgent } from './agents.ts'
import { FILE, startToolLoop, WORD } from './tool-loop-upstream.ts'

const TARGETS = ['openai-chat', 'openai-responses', 'anthropic-messages', 'google-gemini']
const PROMPT = `Read the file ${FILE} with a shell command and tell me the word in it.`
const routesTo = (url: string, format: string): string => `
pipeline: [errors, auth, model, meter, translate, count]
upstreams: { up: { url: '${url}', key: k, formats: [${format}] } }
models:
  '{name:.+}': { to: up/model, free: true }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/responses, model: body, translate: openai-responses, errors: openai }
  - { path: POST /v1/messages, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: POST /v1/messages/count_tokens, model: body, meter: { free: true }, count: anthropic-messages, errors: anthropic }
  - { path: 'POST /v1beta/models/{model}:generateContent', model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /v1beta/models/{model}:streamGenerateContent', model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /v1beta/models/{model}:countTokens', model: { path: model }, meter: { free: true }, count: google-gemini, errors: google }
`

t.setTimeout(1_200_000)
for (const agent of AGENTS)
  t.test(
    `agents: ${agent.name} ${agent.version} runs a tool loop on every target`,
    { skip: !LONG && 'it is large: the long form installs it' },
    async t => {
      const command = await install(agent)
      for (const target of TARGETS)
        await t.test(target, async t => {
          const upstream = await startToolLoop(t, target)
          const server = await startGateway({ routes: routesTo(upstream.url, target) })
          t.teardown(() => server.stop())
          const gateway = { url: server.url, key: await server.key() }
          const folder = t.testdir({ work: { [FILE]: `The word is ${WORD}.\n` }, home: {} })
          const result = await runAgent(agent, {
            command,
            home: join(folder, 'home'),
            cwd: join(folder, 'work'),
            prompt: PROMPT,
            gateway,
          })
          t.match(result.output, WORD, 'the user reads the word')
          t.ok(upstream.calls.length > 0, 'the model called the shell')
          t.same(upstream.problems, [])
          if (!t.passing()) t.comment(result.output.slice(-3_000))
        })
    },
  )
