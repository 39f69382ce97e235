/** Providers by YAML alone: one row for each kind of provider, with a call over its preset or its
 *  keys of an upstream. The scripted upstream verifies path, credential and body of each. */
import { createVerify, generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import type { Json } from '../../../engine/plugin.ts'
import { ANSWER_OF_ALL_FORMATS } from '../../helpers/formats/plain-answers.ts'
import { expectedAuthorization, ID, SECRET } from '../../helpers/gateway/aws-signature.ts'
import {
  CLIENT,
  type Listener,
  SERVER,
  startHttp2,
  startProxy,
} from '../../helpers/gateway/connections.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { postTo } from '../../helpers/gateway/post.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'

const PRESETS_TEXT = readFileSync(
  new URL('../../../program/config/presets.yaml', import.meta.url),
  'utf8',
)
const PRESETS: Readonly<Record<string, { readonly url: string }>> = parse(PRESETS_TEXT).presets
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })

// ---------------------------------------------------------------- the upstream

interface Received {
  readonly path: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: { readonly [key: string]: Json }
}
let received: Received | undefined
const answer: Listener = async (incoming, response) => {
  const parts: Uint8Array[] = []
  for await (const part of incoming) parts.push(part)
  const bytes = Buffer.concat(parts)
  const { url: path = '', headers } = incoming
  received = { path, headers, body: JSON.parse(bytes.toString() || '{}') }
  const { authorization = '' } = headers
  const isAccepted = authorization.startsWith('AWS4')
    ? 'socket' in incoming && authorization === expectedAuthorization(incoming as never, bytes)
    : ['Bearer sk-key', 'Bearer google-token', 'Bearer azure-token'].includes(authorization) ||
      headers['api-key'] === 'sk-key'
  response.writeHead(isAccepted ? 200 : 401, { 'content-type': 'application/json' })
  response.end(JSON.stringify(isAccepted ? ANSWER_OF_ALL_FORMATS : { error: { message: 'no' } }))
}
const url = await startHttpUpstream(t, answer)
const http2 = await startHttp2(t, answer)
const proxy = await startProxy(t)

/** Gives tokens for assertions that the service account signed, and for the secret of Azure. */
const identity = await startHttpUpstream(t, async (incoming, response) => {
  const parts: Uint8Array[] = []
  for await (const part of incoming) parts.push(part)
  const form = new URLSearchParams(Buffer.concat(parts).toString())
  const [head, claims, signature = ''] = (form.get('assertion') ?? '').split('.')
  const isSigned = createVerify('RSA-SHA256')
    .update(`${head}.${claims}`)
    .verify(publicKey, signature, 'base64url')
  const isAzure = incoming.url === '/contoso/oauth2/v2.0/token' && form.get('client_secret') === 's'
  const token = isSigned ? 'google-token' : 'azure-token'
  response.writeHead(isSigned || isAzure ? 200 : 401)
  response.end(JSON.stringify({ access_token: token, expires_in: 3_600 }))
})

// ---------------------------------------------------------------- the table

const google = JSON.stringify({
  type: 'service_account',
  client_email: 'gate@project.iam.gserviceaccount.com',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  token_uri: `${identity}/token`,
})
const azure = { tenant: 'contoso', client: 'c', secret: 's', authority: identity }
const aws = { region: 'eu-west-1', service: 'bedrock', id: ID, secret: SECRET }

interface Row {
  readonly provider: string
  readonly upstream: { readonly [key: string]: unknown }
  /** The model's name at the upstream, and its formats, if not those of the upstream. */
  readonly name?: string
  readonly formats?: readonly string[]
  /** The request that the upstream receives. */
  readonly path: string
  readonly authorization?: RegExp
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: { readonly [key: string]: Json | undefined }
}
const KEYS = { region: 'eu-west-1', project: 'p', resource: 'r' }
const fill = (text: string): string =>
  text.replace(/\{(\w+)\}/g, (_, name: keyof typeof KEYS) => KEYS[name])
/** A preset, at the scripted upstream in place of its host. */
const preset = (name: string, more: object = { key: 'sk-key' }) => {
  const { pathname } = new URL(fill(PRESETS[name]?.url ?? ''))
  return { preset: name, ...KEYS, ...more, url: url + pathname.replace(/\/$/, '') }
}
const compatible = (name: string, path: string): Row => ({
  provider: name,
  upstream: preset(name),
  path,
})
const vertex = (model: string, format: string, path: string, more: Partial<Row> = {}): Row => ({
  provider: `Vertex: ${model}`,
  upstream: preset('vertex', { auth: { google } }),
  name: model,
  formats: [format],
  path: `/v1/projects/p/locations/eu-west-1${path}`,
  authorization: /^Bearer google-token$/,
  ...more,
})
const CLAUDE = 'eu.anthropic.claude-x-v1:0'
const PROFILE = 'arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-x-v1:0'
const SIGNED = /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/
const renamed = { max_tokens: 7, max_completion_tokens: undefined }

const ROWS: readonly Row[] = [
  {
    ...compatible('openai', '/v1/chat/completions'),
    upstream: { ...preset('openai'), headers: { set: { 'openai-organization': 'org-1' } } },
    headers: { 'openai-organization': 'org-1' },
  },
  { ...compatible('deepseek', '/v1/chat/completions'), body: renamed },
  compatible('groq', '/openai/v1/chat/completions'),
  compatible('xai', '/v1/chat/completions'),
  { ...compatible('together', '/v1/chat/completions'), body: renamed },
  { ...compatible('moonshot', '/v1/chat/completions'), body: renamed },
  { ...compatible('qwen', '/compatible-mode/v1/chat/completions'), body: renamed },
  { ...compatible('cohere', '/compatibility/v1/chat/completions'), body: renamed },
  compatible('vllm', '/v1/chat/completions'),
  { ...compatible('ollama', '/v1/chat/completions'), body: renamed },
  {
    ...compatible('openrouter', '/api/v1/chat/completions'),
    upstream: {
      ...preset('openrouter'),
      headers: { set: { 'http-referer': 'https://a.example', 'x-title': 'A' } },
    },
    headers: { 'http-referer': 'https://a.example', 'x-title': 'A' },
  },
  {
    provider: 'Azure OpenAI, /openai/v1',
    upstream: {
      url: `${url}/openai/v1`,
      key: 'sk-key',
      auth: { header: 'api-key' },
      formats: ['openai-chat'],
    },
    path: '/openai/v1/chat/completions',
    headers: { 'api-key': 'sk-key' },
  },
  {
    provider: 'Azure OpenAI, deployments and api-version',
    upstream: preset('azure'),
    name: 'gpt-4o',
    path: '/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21',
    headers: { 'api-key': 'sk-key' },
  },
  {
    provider: 'Azure OpenAI, Entra ID',
    upstream: preset('azure', { auth: { azure } }),
    name: 'gpt-4o',
    path: '/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21',
    authorization: /^Bearer azure-token$/,
  },
  {
    ...compatible('mistral', '/v1/chat/completions'),
    body: { ...renamed, random_seed: 3, seed: undefined, user: undefined },
  },
  { ...compatible('zhipu', '/api/paas/v4/chat/completions'), body: { ...renamed, user_id: 'ann' } },
  { ...compatible('perplexity', '/chat/completions'), body: renamed },
  vertex('gemini-x', 'google-gemini', '/publishers/google/models/gemini-x:generateContent'),
  vertex('google/gemini-x', 'openai-chat', '/endpoints/openapi/chat/completions', {
    body: { model: 'google/gemini-x' },
  }),
  vertex(
    'claude-x@1',
    'anthropic-messages',
    '/publishers/anthropic/models/claude-x%401:rawPredict',
    { body: { anthropic_version: 'vertex-2023-10-16', model: undefined } },
  ),
  {
    provider: 'Bedrock, OpenAI-compatible, API key',
    upstream: preset('bedrock'),
    formats: ['openai-chat'],
    path: '/openai/v1/chat/completions',
    authorization: /^Bearer sk-key$/,
  },
  {
    provider: 'Bedrock, OpenAI-compatible, SigV4',
    upstream: preset('bedrock', { auth: { aws } }),
    name: 'openai.gpt-oss-120b-1:0',
    formats: ['openai-chat'],
    path: '/openai/v1/chat/completions',
    authorization: SIGNED,
  },
  {
    provider: 'Bedrock Converse, SigV4',
    upstream: preset('bedrock', { auth: { aws } }),
    name: CLAUDE,
    path: `/model/${encodeURIComponent(CLAUDE)}/converse`,
    authorization: SIGNED,
    body: { inferenceConfig: { maxTokens: 7 }, model: undefined },
  },
  {
    provider: 'Bedrock Converse, an inference profile by its ARN',
    upstream: preset('bedrock', { auth: { aws } }),
    name: PROFILE,
    path: `/model/${encodeURIComponent(PROFILE)}/converse`,
    authorization: SIGNED,
  },
  {
    provider: 'Cohere v2',
    upstream: { url, key: 'sk-key', formats: ['cohere-chat'] },
    path: '/v2/chat',
    body: { max_tokens: 7 },
  },
  {
    provider: 'a server inside: proxy, mTLS, own CA, HTTP/2',
    upstream: {
      url: http2,
      key: 'sk-key',
      formats: ['openai-chat'],
      proxy: proxy.url,
      tls: { ca: '${file:ca.pem}', cert: '${file:us.pem}', key: '${file:us.key}' },
      http2: true,
    },
    path: '/v1/chat/completions',
  },
]

const gateway = await startGateway({
  inside: true,
  files: {
    'presets.yaml': PRESETS_TEXT,
    'ca.pem': SERVER.cert,
    'us.pem': CLIENT.cert,
    'us.key': CLIENT.key,
  },
  routes: `
include: [presets.yaml]
pipeline: [errors, model, translate, sandbox, adapt]
upstreams: ${JSON.stringify(Object.fromEntries(ROWS.map(({ upstream }, row) => [`u${row}`, upstream])))}
models: ${JSON.stringify(
    Object.fromEntries(
      ROWS.map(({ name = 'm', formats }, row) => [
        `model-${row}`,
        { to: `u${row}/${name}`, ...(formats && { traits: { formats } }) },
      ]),
    ),
  )}
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
`,
})
t.teardown(() => gateway.stop())

for (const [row, { provider, path, authorization, headers = {}, body = {} }] of ROWS.entries())
  t.test(`provider by YAML alone: ${provider}`, async t => {
    received = undefined
    const response = await postTo(`${gateway.url}/v1/chat/completions`, {
      model: `model-${row}`,
      messages: [{ role: 'user', content: 'hi' }],
      max_completion_tokens: 7,
      seed: 3,
      user: 'ann',
    })
    const text = await response.text()
    t.equal(response.status, 200, text)
    t.equal(JSON.parse(text).choices?.[0]?.message.content, 'hi')
    const request = received as Received | undefined
    t.equal(request?.path, path)
    if (authorization) t.match(request?.headers.authorization, authorization)
    t.match(request?.headers, headers)
    for (const [key, value] of Object.entries(body)) t.same(request?.body[key], value, key)
  })

t.test('provider by YAML alone: the proxy opened a tunnel', async t => {
  t.ok(proxy.tunnels.length >= 1)
})
