/** Each shipped preset: a conversation of clients of every format, plain and streamed, over a real
 *  upstream; the oracle of the provider refuses nothing of what arrives. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { asObject, type LooseObject } from '../../helpers/formats/loose-json.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { postTo } from '../../helpers/gateway/post.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'
import { CLIENTS, type Client } from '../../oracles/cells.ts'
import { familyOf } from '../../oracles/families.ts'
import { judge } from '../../oracles/index.ts'
import { judgeProvider, PROVIDERS } from '../../oracles/providers.ts'
import { render } from '../../oracles/render/render.ts'
import type { Scenario, Step, ToolPart } from '../../oracles/scenarios.ts'
import { type Received, serve } from './requests/upstreams.ts'

const PRESETS_TEXT = readFileSync('program/config/presets.yaml', 'utf8')
const PRESETS: Readonly<Record<string, { readonly formats: readonly string[] }>> =
  parse(PRESETS_TEXT).presets

// ---------------------------------------------------------------- the conversations

/** A model of a preset: what it takes. */
interface Golden {
  readonly preset: string
  readonly model: string
  readonly traits?: object
  /** The format at the upstream, if not all of the preset. */
  readonly format?: string
  readonly takes: readonly ('tools' | 'thinking' | 'images')[]
}
const ALL = ['tools', 'thinking', 'images'] as const
const REASONS = { sampling: false }
const ADAPTIVE = { thinking: 'adaptive', prefill: false }
const CONVERSATIONS: readonly Golden[] = [
  { preset: 'openai', model: 'gpt-5.5', traits: REASONS, takes: ALL },
  { preset: 'openai', model: 'gpt-4.1', traits: { thinking: false }, takes: ['tools', 'images'] },
  { preset: 'anthropic', model: 'claude-sonnet-4-6', traits: ADAPTIVE, takes: ALL },
  { preset: 'gemini', model: 'gemini-2.5-flash', traits: { thinking: 'budget' }, takes: ALL },
  {
    preset: 'gemini',
    model: 'gemini-3-pro',
    traits: { thinking: 'level', signatures: 'required', mixed_tools: true, tool_media: true },
    takes: ALL,
  },
  {
    preset: 'vertex',
    model: 'gemini-2.5-pro',
    traits: { thinking: 'budget', thinking_least: 128, vertex: true },
    takes: ALL,
  },
  {
    preset: 'vertex',
    model: 'claude-sonnet-4-6',
    traits: ADAPTIVE,
    format: 'anthropic-messages',
    takes: ALL,
  },
  { preset: 'vertex', model: 'google/gemini-2.5-pro', format: 'openai-chat', takes: ALL },
  { preset: 'azure', model: 'gpt-5.5', traits: REASONS, takes: ALL },
  { preset: 'bedrock', model: 'anthropic.claude-sonnet-4-6', traits: ADAPTIVE, takes: ALL },
  {
    preset: 'bedrock',
    model: 'openai.gpt-oss-120b-1:0',
    format: 'openai-chat',
    takes: ['tools', 'thinking'],
  },
  { preset: 'deepseek', model: 'deepseek-v4', takes: ['tools', 'thinking'] },
  {
    preset: 'mistral',
    model: 'mistral-large-latest',
    traits: { thinking: false },
    takes: ['tools', 'images'],
  },
  { preset: 'groq', model: 'openai/gpt-oss-120b', takes: ['tools', 'thinking'] },
  {
    preset: 'groq',
    model: 'meta-llama/llama-4-scout-17b-16e-instruct',
    traits: { thinking: false },
    takes: ['tools', 'images'],
  },
  { preset: 'xai', model: 'grok-4', traits: REASONS, takes: ALL },
  { preset: 'openrouter', model: 'anthropic/claude-sonnet-4.6', takes: ALL },
  { preset: 'together', model: 'Qwen/Qwen3.5-397B-A17B', takes: ALL },
  { preset: 'fireworks', model: 'accounts/fireworks/models/kimi-k2p5', takes: ALL },
  {
    preset: 'cohere',
    model: 'command-a-vision',
    traits: { thinking: false },
    takes: ['tools', 'images'],
  },
  { preset: 'moonshot', model: 'kimi-k2.5', takes: ALL },
  { preset: 'zhipu', model: 'glm-4.6v', takes: ALL },
  { preset: 'qwen', model: 'qwen3.5-plus', takes: ALL },
  { preset: 'volcengine', model: 'doubao-seed-1-6', takes: ALL },
  { preset: 'siliconflow', model: 'zai-org/GLM-4.6V', takes: ALL },
  { preset: 'perplexity', model: 'sonar-reasoning-pro', takes: ['thinking', 'images'] },
  { preset: 'cerebras', model: 'gpt-oss-120b', takes: ['tools', 'thinking'] },
  { preset: 'ollama', model: 'qwen3-vl', takes: ALL },
  { preset: 'vllm', model: 'Qwen/Qwen3-VL-8B', takes: ALL },
  { preset: 'sglang', model: 'Qwen/Qwen3-VL-8B', takes: ALL },
  { preset: 'llama-cpp', model: 'qwen3-vl', takes: ALL },
]
const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const TOOLS: readonly ToolPart[] = [
  { name: 'get_weather', schema: SCHEMA },
  { name: 'Read', schema: SCHEMA, strict: true },
]
const call = (id: string, name: string) => ({ id, name, input: { city: 'Paris' } })
const stepsOf = ({ takes }: Golden): readonly Step[] => {
  const thought = takes.includes('thinking') ? ({ thought: 'unsigned' } as const) : {}
  const result = { result: 'text', ...thought } as const
  const media = takes.includes('images') ? (['png'] as const) : []
  return [
    { type: 'user', text: 'What is the weather?', media },
    ...(takes.includes('tools')
      ? ([
          { type: 'calls', calls: [call('call_1', 'get_weather')], text: 'I look.', ...result },
          { type: 'calls', calls: [call('call_2', 'Read'), call('call_3', 'Read')], ...result },
        ] as const)
      : []),
    { type: 'assistant', text: 'It is sunny.', ...thought },
    { type: 'user', text: 'Answer in JSON.', media: [] },
  ]
}
/** By name: what the request has beside the conversation. */
const REQUESTS: Readonly<Record<string, Partial<Scenario>>> = {
  agent: {},
  'forced call': { choice: 'required', isSerial: true },
  'named call': { choice: 'one' },
  schema: { form: 'schema', isCached: false },
  settings: {
    form: 'json',
    sampling: { temperature: 0.7, topP: 0.9, topK: 40, stop: ['END', 'STOP'], seed: 7, penalty: 1 },
    user: 'user-17',
    metadata: { team: 'a' },
  },
}
const scenarioOf = (golden: Golden, more: Partial<Scenario>, isStreamed: boolean): Scenario => {
  const { choice, ...others } = more
  const tools = golden.takes.includes('tools') ? TOOLS : []
  return {
    system: ['You are helpful.', 'Be brief.'],
    steps: stepsOf(golden),
    tools,
    hosted: false,
    isSerial: false,
    ...(golden.takes.includes('thinking') && { thinking: 'high' }),
    limit: 16_000,
    sampling: {},
    isCached: true,
    isShort: false,
    isStreamed,
    ...others,
    ...(choice && tools.length > 0 && { choice }),
  }
}
/** Chat clients of newer models name the role of instructions `developer`. */
const withDevelopers = (body: LooseObject): LooseObject => ({
  ...body,
  messages: (body.messages as readonly LooseObject[]).map(each =>
    each.role === 'system' ? { ...each, role: 'developer' } : each,
  ),
})

// ---------------------------------------------------------------- the gateway

let received: Received | undefined
let receivedPath = ''
const upstream = await startHttpUpstream(t, async (request, response) => {
  receivedPath = (request.url ?? '').split('?')[0] ?? ''
  received = await serve(request, response, undefined)
})
const formatsOf = ({ preset, format }: Golden): readonly string[] =>
  (format ? [format] : (PRESETS[preset]?.formats ?? [])).filter(
    each => CLIENTS.includes(each as Client) || each === 'bedrock-converse',
  )
/** A model for each format of its preset. */
const CELLS = CONVERSATIONS.flatMap(golden => formatsOf(golden).map(format => ({ golden, format })))
const KEYS = { region: 'eu-west-1', project: 'p', resource: 'r', key: 'sk-key' }
const models = CELLS.map(({ golden, format }, index) => [
  `m${index}`,
  {
    to: `${golden.preset}/${golden.model}`,
    traits: { ...golden.traits, formats: [format] },
    output: 32_000,
  },
])
const gateway = await startGateway({
  inside: true,
  files: { 'presets.yaml': PRESETS_TEXT },
  routes: `
include: [presets.yaml]
pipeline: [errors, model, translate, adapt]
upstreams: ${JSON.stringify(Object.fromEntries(Object.keys(PRESETS).map(preset => [preset, { preset, ...KEYS, url: upstream }])))}
models: ${JSON.stringify(Object.fromEntries(models))}
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/responses, model: body, translate: openai-responses, errors: openai }
  - { path: POST /v1/messages, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: POST /v1beta/interactions, model: body, translate: google-interactions, errors: google }
  - { path: 'POST /v1beta/models/{model}:generateContent', model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /v1beta/models/{model}:streamGenerateContent', model: { path: model }, translate: google-gemini, errors: google }
`,
})
t.teardown(() => gateway.stop())

const pathOf = (client: Client, model: string, isStreamed: boolean): string =>
  ({
    'openai-chat': '/v1/chat/completions',
    'openai-responses': '/v1/responses',
    'anthropic-messages': '/v1/messages',
    'google-gemini': `/v1beta/models/${model}:${isStreamed ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    'google-interactions': '/v1beta/interactions',
  })[client]
/** The provider's refusals of a request; a status other than 200 too. */
const refusalsOf = async (
  { golden, format }: (typeof CELLS)[number],
  model: string,
  { client, body, isStreamed }: ReturnType<typeof render>,
): Promise<readonly string[]> => {
  received = undefined
  const response = await postTo(
    gateway.url + pathOf(client, model, isStreamed === true),
    client === 'google-gemini' ? body : { ...body, model },
  )
  const text = await response.text()
  const { body: bytes, headers } = (received as Received | undefined) ?? { body: '', headers: {} }
  if (response.status !== 200 || bytes === '') return [`${response.status} ${text}`]
  const family = familyOf(golden.model)
  // Vertex has the model of Anthropic in the path, and a member that its SDK's types lack.
  const { anthropic_version: version, ...members } = asObject(JSON.parse(bytes))
  const upstreamBody = { ...(version === undefined ? {} : { model: golden.model }), ...members }
  const findings = judge(format, family, upstreamBody, headers, receivedPath)
  const own = client === format ? judge(format, family, body, headers, receivedPath) : []
  return [
    ...findings.filter(({ rule }) => !own.some(each => each.rule === rule)),
    ...(format === 'openai-chat' ? judgeProvider(golden.preset, upstreamBody) : []),
  ].map(({ rule, message }) => `${rule}: ${message}`)
}

t.test('presets: each has a conversation', t => {
  t.same([...new Set(CONVERSATIONS.map(each => each.preset))].sort(), Object.keys(PRESETS).sort())
  t.same(
    Object.keys(PROVIDERS).filter(name => !(name in PRESETS)),
    [],
  )
  t.end()
})
for (const [index, cell] of CELLS.entries())
  t.test(`presets: ${cell.golden.preset} takes ${cell.golden.model} as ${cell.format}`, async t => {
    const refusals = new Set<string>()
    for (const client of CLIENTS)
      for (const [name, more] of Object.entries(REQUESTS))
        for (const isStreamed of [false, true]) {
          const all = scenarioOf(cell.golden, more, isStreamed)
          // Settings that a model refuses are the client's own in the same format.
          const isOwn = client === cell.format && cell.golden.traits === REASONS
          const scenario = isOwn ? { ...all, sampling: {} } : all
          const request = render(client, scenario, name)
          const requests =
            client === 'openai-chat' && isStreamed
              ? [request, { ...request, body: withDevelopers(request.body) }]
              : [request]
          for (const each of requests)
            for (const refusal of await refusalsOf(cell, `m${index}`, each))
              refusals.add(`${client}, ${name}: ${refusal}`)
        }
    t.same([...refusals], [], 'nothing is refused')
  })
