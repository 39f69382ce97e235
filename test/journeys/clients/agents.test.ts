/** Agent command lines, unmodified, run a loop of two steps through the gateway on every target
 *  format: the model calls their shell, and reads its result. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { scaled } from '../../helpers/machine-speed.ts'
import { LONG } from '../../helpers/run-settings.ts'
import { AGENTS, install, runAgent } from './agents.ts'
import { FILE, startToolLoop, WORD } from './tool-loop-upstream.ts'

const TARGETS = ['openai-chat', 'openai-responses', 'anthropic-messages', 'google-gemini']
const git = promisify(execFile)
const PROMPT = `Read the file ${FILE} with a shell command and tell me the word in it.`
const routesTo = (url: string, format: string): string => `
pipeline: [errors, auth, model, responses, meter, translate, count]
upstreams: { up: { url: '${url}', key: k, formats: [${format}] } }
models:
  '{name:.+}': { to: up/model, free: true }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/responses, name: responses, model: body, responses: create, translate: openai-responses, errors: openai }
  - { path: WS /v1/responses, name: socket, responses: socket, errors: openai }
  - { path: POST /v1/messages, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: POST /v1/messages/count_tokens, model: body, meter: { free: true }, count: anthropic-messages, errors: anthropic }
  - { path: 'POST /v1beta/models/{model}:generateContent', model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /v1beta/models/{model}:streamGenerateContent', model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /v1beta/models/{model}:countTokens', model: { path: model }, meter: { free: true }, count: google-gemini, errors: google }
`

t.setTimeout(scaled(1_200_000))
for (const agent of AGENTS)
  t.test(
    `agents: ${agent.name} ${agent.version} runs a tool loop on every target`,
    { skip: !LONG && 'it is large: the long form installs it' },
    async t => {
      const command = await install(agent)
      if (!command)
        return void t.pass(`${agent.package} ${agent.version} could not be installed here`, {
          skip: 'the registry does not have it',
        })
      for (const target of TARGETS)
        await t.test(target, async t => {
          const upstream = await startToolLoop(t, target)
          const server = await startGateway({ routes: routesTo(upstream.url, target) })
          t.teardown(() => server.stop())
          const gateway = { url: server.url, key: await server.key() }
          const folder = t.testdir({ work: { [FILE]: `The word is ${WORD}.\n` }, home: {} })
          const cwd = join(folder, 'work')
          await git('git', ['init', '--quiet'], { cwd })
          await git('git', ['add', FILE], { cwd })
          const result = await runAgent(agent, {
            command,
            home: join(folder, 'home'),
            cwd,
            prompt: agent.prompt ?? PROMPT,
            gateway,
          })
          t.match(result.output, WORD, 'the user reads the word')
          t.ok(upstream.calls.length > 0, 'the model asked for the file')
          // The line of a socket is written when it closes.
          const usesSocket = agent.name.includes('WebSocket')
          const hasLine = () => server.output().includes('"route":"socket"')
          for (let tries = 0; usesSocket && !hasLine() && tries < 200; tries++)
            await new Promise(resolve => setTimeout(resolve, 50))
          t.equal(hasLine(), usesSocket, 'its transport')
          t.same(upstream.problems, [])
          if (!t.passing()) t.comment(result.output.slice(-3_000))
        })
    },
  )
