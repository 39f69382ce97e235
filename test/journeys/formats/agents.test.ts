/** Agents of Gemini's interactions, such as Deep Research, over two keys of an upstream, with the
 *  official SDK: plain, streamed, in the background, polled, cancelled, continued and charged. */
import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { GoogleGenAI } from '@google/genai'
import t from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { postTo } from '../../helpers/gateway/post.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { creditAdmin } from '../../helpers/money/credit.ts'

interface Call {
  readonly path: string
  readonly key: string
  readonly body: { readonly [member: string]: unknown }
}
const calls: Call[] = []
/** Interactions in progress: the key that knows each one, and how it ends. */
const running = new Map<string, { readonly key: string; end(): void }>()
const closed: string[] = []

const USAGE = {
  total_input_tokens: 10,
  total_output_tokens: 2,
  total_thought_tokens: 3,
  total_tokens: 15,
  grounding_tool_count: [{ type: 'google_search', count: 2 }],
}
const reply = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
const refuse = (response: ServerResponse, status: number, message: string): void =>
  reply(response, status, { error: { code: status, message, status: 'INVALID_ARGUMENT' } })
/** As the provider: Deep Research runs in the background only, and what does so is stored. */
const interact = ({ body, key }: Call, response: ServerResponse): void => {
  const { agent, background, store, stream, input } = body
  if ('model' in body || typeof agent !== 'string') return refuse(response, 400, 'no agent')
  if (agent.startsWith('deep-research') && background !== true)
    return refuse(response, 400, 'background=true is required')
  if (background === true && store === false) return refuse(response, 400, 'store it')
  const id = `agent_${calls.length}`
  const steps = [{ type: 'model_output', content: [{ type: 'text', text: 'A report.' }] }]
  const whole = { id, agent, status: 'completed', steps, usage: USAGE }
  if (stream !== true) return reply(response, 200, whole)
  const send = (event: { readonly event_type: string; readonly [member: string]: unknown }): void =>
    void response.write(`event: ${event.event_type}\ndata: ${JSON.stringify(event)}\n\n`)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  send({ event_type: 'interaction.created', interaction: { id, agent, status: 'in_progress' } })
  send({ event_type: 'step.start', index: 0, step: { type: 'model_output' } })
  const end = (): void => {
    send({ event_type: 'step.delta', index: 0, delta: { type: 'text', text: 'A report.' } })
    send({ event_type: 'step.stop', index: 0 })
    send({ event_type: 'interaction.completed', interaction: { ...whole, steps: undefined } })
    response.end()
  }
  response.on('close', () => closed.push(id))
  const last = Array.isArray(input) ? input.at(-1) : input
  if (JSON.stringify(last).includes('slow')) running.set(id, { key, end })
  else end()
}
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  const path = request.url ?? ''
  const key = String(request.headers['x-goog-api-key'])
  const call = { path, key, body: text === '' ? {} : JSON.parse(text) }
  calls.push(call)
  const [, cancelled = ''] = /\/interactions\/(\w+)\/cancel$/.exec(path) ?? []
  if (cancelled === '') return interact(call, response)
  if (running.get(cancelled)?.key !== key) return refuse(response, 404, 'not found')
  reply(response, 200, { id: cancelled, status: 'cancelled' })
})
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const ROUTES = `
pipeline: [errors, auth, validate, model, responses, meter, translate]
upstreams:
  gx: { url: '${url}', key: [first, second], auth: { header: x-goog-api-key }, formats: [google-gemini, google-interactions] }
  chat: { url: '${url}', formats: [openai-chat] }
models:
  research:
    to: gx/deep-research-preview-04-2026
    context: 1000
    output: 100
    price: { input: 1 / 1k, output: 1 / 1k, web_search: 5 / 1k }
    max_calls: { web_search: 3 }
    traits: { search_unit: query }
  deep-research-either:
    to: [chat/gpt, gx/deep-research-preview-04-2026]
    price: { input: 1 / 1k, output: 1 / 1k }
  antigravity: { to: gx/antigravity-preview-05-2026, price: { input: 1 / 1k, output: 1 / 1k } }
  chat: { to: chat/gpt, price: { input: 1 / 1k, output: 1 / 1k } }
routes:
  - { path: POST /v1beta/interactions, auth: [query-key, key], model: { resource: model, or: agent }, validate: interactions.json, responses: interactions, translate: google-interactions, errors: google }
  - { path: 'GET /v1beta/interactions/{id}', auth: [query-key, key], responses: show-interaction, errors: google }
  - { path: 'POST /v1beta/interactions/{id}/cancel', auth: [query-key, key], responses: cancel-interaction, errors: google }
`
const gateway = await startGateway({
  routes: ROUTES,
  files: { 'interactions.json': readFileSync('schemas/interactions.json', 'utf8') },
})
const apiKey = await gateway.key()
await creditAdmin(gateway.data)
const database = await openDatabase({ url: 'sqlite:', data: gateway.data, writeTimeout: 60_000 })
t.teardown(async () => {
  await database.close()
  await gateway.stop()
  server.closeAllConnections()
  server.close()
})
const { interactions } = new GoogleGenAI({
  apiKey,
  httpOptions: { baseUrl: gateway.url, apiVersion: 'v1beta', retryOptions: { attempts: 1 } },
})
const chargeOf = async (id: string) => {
  const text = `SELECT state, amount, held FROM charges WHERE request = 'req_${id.slice(4)}'`
  return (await database.read({ name: `test: ${text}`, text }, []))[0]
}
const ended = (id: string) =>
  eventually(async () => {
    const current = await interactions.get(id)
    return current.status === 'in_progress' ? undefined : current
  })
/** The request that the upstream got last. */
const lastRequest = () => calls.findLast(({ path }) => path.endsWith('/interactions'))?.body
const upstreamAgent = 'deep-research-preview-04-2026'
const options = { type: 'deep-research', thinking_summaries: 'auto' } as const
const SETTLED = { state: 'settled', amount: 15_000_000 + 10_000_000 }

t.test('agent: passes unchanged but for its name, and a plain one is charged', async t => {
  const body = {
    agent: 'antigravity',
    input: 'Fix it',
    agent_config: { type: 'antigravity', max_total_tokens: '9' },
    environment: 'env_1',
  } as const
  const answer = await interactions.create({ ...body, stream: false })
  t.match(answer, { id: /^int_/, status: 'completed', output_text: 'A report.' })
  t.same(lastRequest(), { ...body, stream: false, agent: 'antigravity-preview-05-2026' })
  await eventually(async () => (await chargeOf(answer.id))?.state === 'settled' || undefined)
  t.match(await interactions.get(answer.id), { id: answer.id, status: 'completed' })
})

t.test('agent: is streamed from the background of its upstream', async t => {
  const body = { agent: 'research', input: 'Dig', background: true, agent_config: options } as const
  const stream = await interactions.create({ ...body, stream: true })
  const types: string[] = []
  let id = ''
  for await (const event of stream) {
    types.push(event.event_type)
    if (event.event_type === 'interaction.created') id = event.interaction.id
    if (event.event_type === 'interaction.completed') t.equal(event.interaction.id, id)
  }
  t.match(id, /^int_/)
  t.equal(types.at(-1), 'interaction.completed')
  t.same(lastRequest(), { ...body, stream: true, agent: upstreamAgent })
  t.match(await chargeOf(id), SETTLED, 'with its searches')
  t.match(await interactions.get(id), {
    id,
    status: 'completed',
    steps: [{ type: 'model_output' }],
  })
})

t.test('agent: runs in the background, is polled, charged and continued', async t => {
  const body = { agent: 'research', background: true, agent_config: options } as const
  const queued = await interactions.create({ ...body, input: 'Dig slow', stream: false })
  t.match(queued, { id: /^int_/, agent: 'research', status: 'in_progress' })
  const [[, current] = []] = await eventually(async () => {
    const list = [...running]
    return list.length > 0 ? list : undefined
  })
  t.same(lastRequest(), {
    ...body,
    input: 'Dig slow',
    stream: true,
    store: true,
    agent: upstreamAgent,
  })
  t.match(await interactions.get(queued.id), { status: 'in_progress' })
  t.match(await chargeOf(queued.id), { state: 'open', held: 1_100_000_000 }, 'context and output')
  current?.end()
  running.clear()
  const whole = await ended(queued.id)
  t.match(whole, {
    id: queued.id,
    status: 'completed',
    steps: [{ content: [{ text: 'A report.' }] }],
  })
  t.match(await chargeOf(queued.id), SETTLED)
  const next = {
    ...body,
    previous_interaction_id: queued.id,
    input: 'Go on',
    stream: false,
  } as const
  const second = await ended((await interactions.create(next)).id)
  t.match(second, { status: 'completed', previous_interaction_id: queued.id })
  t.match(lastRequest(), {
    agent: upstreamAgent,
    agent_config: options,
    background: true,
    store: true,
  })
  t.match(JSON.stringify(lastRequest()?.input), /Dig slow.*A report.*Go on/)
  t.notOk(calls.some(({ path }) => path.endsWith('/cancel')))
  const stream = await interactions.create({ ...next, stream: true })
  for await (const _ of stream);
  t.match(lastRequest(), {
    agent: upstreamAgent,
    agent_config: options,
    background: true,
    stream: true,
  })
  t.match(JSON.stringify(lastRequest()?.input), /Dig slow.*A report.*Go on/)
})

const cancelled = (id: string) =>
  eventually(async () => {
    const known = calls.filter(({ path }) => path.endsWith(`/${id}/cancel`))
    return known.some(({ key }) => key === running.get(id)?.key) || undefined
  })
const onlyRunning = () =>
  eventually(async () => (running.size === 1 ? [...running.keys()][0] : undefined))

t.test('agent: cancelling its interaction cancels it at the upstream', async t => {
  const body = { agent: 'research', input: 'slow', background: true, stream: false } as const
  const { id: previous } = await interactions.create({ ...body, input: 'First' })
  await ended(previous)
  for (const more of [{}, {}, { previous_interaction_id: previous }]) {
    const { id } = await interactions.create({ ...body, ...more })
    const upstreamId = await onlyRunning()
    t.match(await interactions.cancel(id), { id, status: 'cancelled' })
    await cancelled(upstreamId)
    // Its provider began it: what is known of its usage is charged.
    const charge = await eventually(async () => {
      const current = await chargeOf(id)
      return current?.state === 'open' ? undefined : current
    })
    t.match(charge, { state: 'settled' })
    t.ok(Number(charge.amount) < 100_000_000, String(charge.amount))
    t.match(await interactions.get(id), { status: 'cancelled' })
    running.clear()
  }
})

t.test('agent: a client that leaves its stream cancels it at the upstream', async () => {
  const body = { agent: 'research', input: 'slow', background: true, stream: true } as const
  const stream = await interactions.create(body)
  for await (const _ of stream) break
  const id = await onlyRunning()
  await cancelled(id)
  await eventually(async () => closed.includes(id) || undefined)
  running.clear()
})

t.test('agent: is refused by name if no target runs it', async t => {
  const post = async (body: object) => {
    const response = await postTo(
      `${gateway.url}/v1beta/interactions`,
      { input: 'x', ...body },
      { 'x-goog-api-key': apiKey },
    )
    return { status: response.status, body: await response.json() }
  }
  const agent_config = { type: 'deep-research' }
  const REFUSALS: readonly (readonly [object, number, RegExp])[] = [
    [{ agent: 'chat' }, 400, /'?agent/],
    [{ agent: 'chat', stream: true }, 400, /agent/],
    [{ agent: 'chat', background: true }, 400, /agent/],
    [{ agent: 'research', agent_config }, 400, /'research'.*'background'/],
    [{ agent: 'deep-research-either', stream: true }, 400, /'background'/],
    [{ agent: 'research', model: 'chat' }, 400, /'agent' and 'model'/],
    [{ agent: 'research', background: true, store: false }, 400, /'store'/],
    [{ agent: 'nothing' }, 404, /'nothing'/],
    [{ agent: 7 }, 400, /agent/],
    [{ agent: '' }, 400, /agent/],
    [{ agent: 'research', background: true, agent_config: 'deep' }, 400, /agent_config/],
    [{}, 400, /'model'/],
  ]
  for (const [body, status, message] of REFUSALS) {
    const answer = await post(body)
    t.equal(answer.status, status, JSON.stringify([body, answer.body]))
    t.match(answer.body, { error: { code: status, message } })
  }
  const { id } = await interactions.create({
    agent: 'deep-research-either',
    input: 'x',
    background: true,
    stream: false,
  })
  t.match(await ended(id), { status: 'completed' }, 'of several targets, one of its format')
})
