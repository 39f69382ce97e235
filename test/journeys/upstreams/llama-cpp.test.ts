/** A real engine behind the gateway: two servers of llama.cpp with a model that the test makes.
 *  Discovery, usage, tools, prompts that an engine knows, an engine that is killed, warm-up. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { eventually } from '../../helpers/eventually.ts'
import { freePort } from '../../helpers/free-port.ts'
import { answerChat, startTextUpstream } from '../../helpers/gateway/chat-upstream.ts'
import { eventsOf } from '../../helpers/gateway/event-stream.ts'
import {
  chargeOf,
  gateway,
  postJson,
  prepareCustomer,
  UNIT,
} from '../../helpers/money/billing-gateway.ts'
import { LONG } from '../../helpers/run-settings.ts'
import { writeTinyModel } from './tiny-model.ts'

const run = promisify(execFile)
const FOLDER = fileURLToPath(new URL('../../../.ci/llama-cpp', import.meta.url))
const BIN = join(FOLDER, 'venv/bin')
/** Tokens of one conversation at an engine: less than the model was made for. */
const CONTEXT = 2048

/** Undefined where Python or the package cannot be had. */
const install = async (): Promise<string | undefined> => {
  const isInstalled = () =>
    run(join(BIN, 'python'), ['-c', 'import xllamacpp'])
      .then(() => true)
      .catch(() => false)
  const python = async () => {
    await run('python3', ['-m', 'venv', join(FOLDER, 'venv')])
    await run(join(BIN, 'pip'), ['install', '-q', '-r', join(FOLDER, 'requirements.txt')])
  }
  if (!(await isInstalled())) await python().catch(() => undefined)
  return (await isInstalled()) ? join(BIN, 'python') : undefined
}

interface Engine {
  readonly url: string
  readonly port: number
  kill(): Promise<unknown>
}
const startEngine = async (t: Test, python: string, file: string, at?: number): Promise<Engine> => {
  const port = at ?? (await freePort())
  const words = [join(FOLDER, 'serve.py'), file, 'tiny', String(port), String(CONTEXT)]
  const child: ChildProcess = spawn(python, words, { stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = once(child, 'exit')
  const kill = () => {
    child.kill('SIGKILL')
    return ended
  }
  t.teardown(kill)
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream }))
    if (line.startsWith('http')) return { url: line, port, kill }
  throw new Error('the engine did not start')
}

/** The counts of the engine. */
interface Usage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly prompt_tokens_details?: { readonly cached_tokens?: number }
}
const routes = (engines: readonly Engine[], spare: string) => `
include: [tollgate:presets.yaml]
pipeline: [errors, observe, auth, model, meter, translate, adapt]
upstreams:
  own:
    preset: llama-cpp
    url: [${engines.map(({ url }) => `'${url}/v1'`).join(', ')}]
    health: { failures: 1, eject: 100ms }
  cold: { preset: llama-cpp, url: '${engines[0]?.url}/v1', warm_up: true }
  spare: { url: '${spare}', formats: [openai-chat] }
models:
  own/*: { to: own/*, discover: { every: 1s }, balance: prefix, context: ${CONTEXT}, price: { input: 1 / 1k, cached: 0.1 / 1k, output: 2 / 1k } }
  warm: { to: cold/tiny, fallback: other, free: true }
  other: { to: spare/other, free: true }
  tiny: { to: own/tiny, output: 100, context: ${CONTEXT}, price: { input: 1 / 1k, output: 2 / 1k } }
routes:
  - { path: POST /v1/chat/completions, auth: key, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/messages, auth: key, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: POST /v1/responses, auth: key, model: body, translate: openai-responses, errors: openai }
  - { path: 'POST /v1beta/models/{model}:generateContent', auth: key, model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /v1beta/models/{model}:streamGenerateContent', auth: key, model: { path: model }, translate: google-gemini, errors: google }
  - { path: GET /v1/models, auth: key, model: { list: openai } }
`
const CHAT = '/v1/chat/completions'
const bodyOf = (content: string, more: object = {}) => ({
  model: 'own/tiny',
  max_tokens: 8,
  temperature: 0,
  messages: [{ role: 'user', content }],
  ...more,
})
/** The usage of a plain answer, or of the last event that has one. */
const usageIn = (text: string): Usage => {
  const events = text.startsWith('data:')
    ? eventsOf(text).filter(each => each !== '[DONE]')
    : [text]
  return events.map(each => JSON.parse(each).usage).findLast(Boolean)
}

t.test(
  'llama.cpp: engines of their own behind the gateway',
  { skip: !LONG && 'CI and the long form run it', timeout: 900_000 },
  async t => {
    const python = await install()
    if (!python) {
      t.pass('skipped: xllamacpp of PyPI cannot be installed here')
      return
    }
    const file = join(t.testdir({}), 'tiny.gguf')
    writeTinyModel(file)
    const engines = [await startEngine(t, python, file), await startEngine(t, python, file)]
    const spare = await startTextUpstream(t, (text, response) =>
      answerChat(text, response, { pieces: ['spare'] }),
    )
    const { key } = await prepareCustomer(routes(engines, spare), 1_000n * UNIT)
    const context: Context = { engines, key, python, file }
    await t.test('discovery names the model and the context that it is served with', t =>
      discovery(t, context),
    )
    await t.test('calls are billed by what the engine counts', t => billing(t, context))
    await t.test('every format of clients', t => formats(t, context))
    await t.test('tools and answers with a schema', t => structured(t, context))
    await t.test('faults are those of the engine', t => faults(t, context))
    await t.test('balance prefix: a conversation meets the engine that knows it', t =>
      prefix(t, context),
    )
    await t.test('warm-up: a client does not load the model', t => warmUp(t, context))
    await t.test('an engine that is killed comes back', t => restart(t, context))
  },
)
interface Context {
  readonly engines: Engine[]
  readonly key: string
  readonly python: string
  readonly file: string
}

const discovery = async (t: Test, { key }: Context) => {
  const headers = { authorization: `Bearer ${key}` }
  const models = await eventually(async () => {
    const list = (await (await fetch(`${gateway.url}/v1/models`, { headers })).json()) as {
      readonly data: readonly { readonly id: string }[]
    }
    return list.data.find(({ id }) => id === 'own/tiny')
  })
  t.match(models, { id: 'own/tiny', max_model_len: CONTEXT })
}

const billing = async (t: Test, { key, engines }: Context) => {
  const text = 'How is the weather?'
  const direct = await fetch(`${engines[0]?.url}${CHAT}`, {
    method: 'POST',
    body: JSON.stringify({ ...bodyOf(text), model: 'tiny' }),
  })
  const { usage: own } = (await direct.json()) as { readonly usage: Usage }
  for (const stream of [false, true]) {
    const more = stream ? { stream, stream_options: { include_usage: true } } : {}
    const { response, text: answer, id } = await postJson(key, CHAT, bodyOf(text, more))
    t.equal(response.status, 200, answer)
    const { prompt_tokens: prompt, completion_tokens: output, ...usage } = usageIn(answer)
    t.same([prompt, output], [own.prompt_tokens, own.completion_tokens], 'as the engine counts')
    const charge = await settled(id)
    const cached = usage.prompt_tokens_details?.cached_tokens ?? 0
    t.match(charge, { estimated: 0, usage: { output } })
    t.equal(Number(charge.amount), (prompt - cached) * 1e6 + cached * 1e5 + output * 2e6)
  }
}

/** By path: a body of eight tokens at most. */
const CLIENTS: Readonly<Record<string, object>> = {
  [CHAT]: bodyOf('Hello', { model: 'tiny' }),
  '/v1/messages': bodyOf('Hello', { model: 'tiny' }),
  '/v1/responses': { model: 'tiny', input: 'Hello', temperature: 0, max_output_tokens: 8 },
  '/v1beta/models/tiny:generateContent': {
    contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
    generationConfig: { maxOutputTokens: 8, temperature: 0 },
  },
}
const formats = async (t: Test, { key }: Context) => {
  for (const [path, body] of Object.entries(CLIENTS))
    for (const stream of [false, true]) {
      const isGoogle = path.includes(':')
      const [end, content] = isGoogle
        ? [stream ? path.replace(':generate', ':streamGenerate') : path, body]
        : [path, { ...body, stream }]
      const { response, text, id } = await postJson(key, end, content)
      t.equal(response.status, 200, `${end}: ${text}`)
      const charge = await settled(id)
      t.match(charge, { estimated: 0, usage: { output: 8 } }, end)
    }
}
const settled = (id: string) =>
  eventually(async () => {
    const row = await chargeOf(id)
    return row.state === 'settled' && row
  })

const COLOURS = {
  type: 'object',
  properties: { colour: { enum: ['red', 'blue'] } },
  required: ['colour'],
  additionalProperties: false,
}
const structured = async (t: Test, { key }: Context) => {
  const form = { type: 'json_schema', json_schema: { name: 'c', schema: COLOURS, strict: true } }
  const chat = await postJson(
    key,
    CHAT,
    bodyOf('Which colour?', { max_tokens: 200, response_format: form }),
  )
  t.match(JSON.parse(JSON.parse(chat.text).choices[0].message.content).colour, /^(red|blue)$/)
  const format = { type: 'json_schema', schema: COLOURS }
  const message = await postJson(
    key,
    '/v1/messages',
    bodyOf('Which colour?', { max_tokens: 200, output_config: { format } }),
  )
  t.match(JSON.parse(JSON.parse(message.text).content[0].text).colour, /^(red|blue)$/)
  const tools = [{ name: 'pick', input_schema: COLOURS }]
  const call = { type: 'tool_use', id: 'call_1', name: 'pick', input: { colour: 'red' } }
  const messages = [
    { role: 'user', content: 'Which colour?' },
    { role: 'assistant', content: [call] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'done' }] },
  ]
  const turn = await postJson(key, '/v1/messages', { ...bodyOf(''), tools, messages })
  t.equal(turn.response.status, 200, turn.text)
}

const faults = async (t: Test, { key }: Context) => {
  const long = bodyOf('a'.repeat(2 * CONTEXT))
  const chat = await postJson(key, CHAT, long)
  t.equal(chat.response.status, 400)
  t.match(JSON.parse(chat.text).error.message, /exceeds the available context size/)
  const message = await postJson(key, '/v1/messages', long)
  t.equal(message.response.status, 400)
  t.match(JSON.parse(message.text), { type: 'error', error: { type: 'invalid_request_error' } })
  for (const { id } of [chat, message]) t.equal(Number((await chargeOf(id)).amount ?? 0), 0)
}

/** Tokens of prompts that the engine has computed. */
const computedBy = async ({ url }: Engine): Promise<number> => {
  const metrics = await (await fetch(`${url}/metrics`)).text()
  return Number(/^llamacpp:prompt_tokens_total (\d+)/m.exec(metrics)?.[1])
}
const prefix = async (t: Test, { key, engines }: Context) => {
  const before = await Promise.all(engines.map(computedBy))
  for (let talk = 0; talk < 8; talk++) {
    const messages = [{ role: 'user', content: `Talk ${talk}. ${'more words '.repeat(60)}` }]
    for (let turn = 0; turn < 3; turn++) {
      const { text } = await postJson(key, CHAT, { ...bodyOf(''), messages })
      const { prompt_tokens: prompt, prompt_tokens_details: details } = usageIn(text)
      if (turn > 0) t.ok(Number(details?.cached_tokens) > prompt / 2, `talk ${talk}: ${text}`)
      messages.push(
        { role: 'assistant', content: JSON.parse(text).choices[0].message.content },
        { role: 'user', content: 'And?' },
      )
    }
  }
  const after = await Promise.all(engines.map(computedBy))
  for (const [index, count] of after.entries())
    t.ok(count > Number(before[index]), `engine ${index} has some of the conversations`)
}

const metricsOf = async (): Promise<string> => (await gateway.askAdmin('/metrics')).text()
const warmUp = async (t: Test, { key }: Context) => {
  const place = async () => {
    const { text } = await postJson(key, CHAT, bodyOf('Hi', { model: 'warm' }))
    return /"content":"(\w*)/.exec(text)?.[1]
  }
  t.equal(await place(), 'spare', 'while the engine is asked')
  await eventually(async () => (await place()) !== 'spare')
  await eventually(async () =>
    /warm_ups_total\{address="[^"]+",result="answered"\} [1-9]/.test(await metricsOf()),
  )
}

const restart = async (t: Test, { engines, key, python, file }: Context) => {
  const [first, second] = engines as [Engine, Engine]
  const isAway = async () =>
    /upstreams_unavailable\{upstream="own",[^}]*\} [1-9]/.test(await metricsOf())
  await first.kill()
  await eventually(async () => {
    for (let call = 0; call < 4; call++) {
      const { response, text } = await postJson(key, CHAT, bodyOf(`Call ${call} ${Math.random()}`))
      t.equal(response.status, 200, text)
    }
    return isAway()
  })
  const again = await startEngine(t, python, file, first.port)
  await eventually(async () => !(await isAway()))
  const [own, other] = [await computedBy(again), await computedBy(second)]
  await eventually(async () => {
    await postJson(key, CHAT, bodyOf(`${Math.random()}`.repeat(30)))
    return (await computedBy(again)) > own
  })
  t.ok((await computedBy(second)) >= other)
}
