/** Conversion of LiteLLM configurations: every value is carried or named in the report. */
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse, parseDocument, stringify } from 'yaml'
import { convertLitellm } from '../../../../program/commands/litellm/convert.ts'
import type { Tables } from '../../../../program/commands/litellm/tables.ts'
import { PriceBook } from '../../../../program/commands/starter/price-book.ts'
import { shipped } from '../../../../program/commands/starter/shipped.ts'

const FOLDER = fileURLToPath(new URL('../../../fixtures/litellm/', import.meta.url))
const TABLES = parse(
  readFileSync(
    new URL('../../../../program/commands/litellm/providers.yaml', import.meta.url),
    'utf8',
  ),
) as Tables
const BOOK = new PriceBook(shipped('models/prices.yaml'))
const convert = (text: string) => {
  const { parts, variables, notes } = convertLitellm(text, TABLES, BOOK)
  // As they are in the file.
  const { upstreams, models, limits, route } = parse(
    stringify(parts, { aliasDuplicateObjects: false }),
  )
  return { upstreams, models, limits, route, notes, variables: Object.fromEntries(variables) }
}
const convertFixture = (name: string) => convert(readFileSync(`${FOLDER}${name}.yaml`, 'utf8'))

/** Another value of the same kind. */
const changed = (value: unknown): unknown => {
  if (typeof value === 'number') return value + 1
  if (typeof value === 'boolean') return !value
  return `${value}x`
}
type Step = string | number
/** Each value of a document that is neither a map nor a list, by its path. */
const leavesOf = (text: string): (readonly Step[])[] => {
  const leaves: (readonly Step[])[] = []
  const walk = (value: unknown, path: readonly Step[]): void => {
    if (Array.isArray(value)) for (const [at, each] of value.entries()) walk(each, [...path, at])
    else if (typeof value === 'object' && value !== null)
      for (const [key, each] of Object.entries(value)) walk(each, [...path, key])
    else leaves.push(path)
  }
  walk(parse(text, { merge: true }), [])
  return leaves
}
/** The text with another value at a path, without anchors. */
const withChange = (text: string, path: readonly Step[]): string => {
  const document = parseDocument(JSON.stringify(parse(text, { merge: true })))
  document.setIn(path, changed(document.getIn(path)))
  return document.toString()
}
const nameOf = (path: readonly Step[]): string =>
  path.reduce<string>(
    (name, step) =>
      typeof step === 'number' ? `${name}[${step}]` : name ? `${name}.${step}` : step,
    '',
  )
/** Notes on an option of a model cover what the deployment says of it. */
const OPTIONS = /\.(price|context|output|thinking|defaults)$/
const resultOf = (text: string): string => {
  const { parts, variables, notes } = convertLitellm(text, TABLES, BOOK)
  return JSON.stringify([parts, [...variables], notes.map(({ name, reason }) => [name, reason])])
}

for (const file of globSync(`${FOLDER}*.yaml`)) {
  t.test(`import litellm: ${basename(file)}: every value is carried or named`, async t => {
    const text = readFileSync(file, 'utf8')
    const plain = JSON.stringify(parse(text, { merge: true }))
    const names = convert(plain).notes.map(({ name }) => name.replace(OPTIONS, ''))
    const result = resultOf(plain)
    const missing = leavesOf(text).filter(path => {
      const name = nameOf(path)
      const isNamed = names.some(
        each => name === each || (/^[.[]/.test(name.slice(each.length)) && name.startsWith(each)),
      )
      return !isNamed && resultOf(withChange(text, path)) === result
    })
    t.same(missing.map(nameOf), [], 'a change of each value that is not named changes the result')
    const unknown = convert(text).notes.filter(({ reason }) => /no such setting/.test(reason))
    t.same(
      unknown.map(({ name }) => name).filter(name => !/^azure_defaults/.test(name)),
      [],
      'each has a reason',
    )
  })
}

t.test('import litellm: Azure with OpenAI behind it', async t => {
  const { upstreams, models, variables, route, notes } = convertFixture('azure-fallback')
  t.match(upstreams.azure, {
    url: 'https://corp-eu.openai.azure.com/openai',
    key: '${AZURE_EU_API_KEY:-}',
    query: { 'api-version': '2024-10-21' },
    timeout: { first_byte: '60s', first_content: '15s' },
  })
  t.match(upstreams.openai, {
    key: '${OPENAI_KEY:-}',
    headers: { set: { 'openai-organization': 'org-abc' } },
  })
  t.same(variables, { OPENAI_KEY: 'sk-plain-openai-key-0123456789' })
  t.notMatch(JSON.stringify(upstreams), 'sk-plain', 'no key stays in the file')
  t.match(upstreams['azure-2'], {
    url: '${AZURE_US_BASE:-https://resource.openai.azure.com}/openai',
    auth: {
      azure: { tenant: '${AZURE_TENANT_ID:-tenant}', secret: '${AZURE_CLIENT_SECRET:-unset}' },
    },
  })
  t.match(upstreams['azure-3'], { key: '${AZURE_AD_TOKEN:-}', auth: 'bearer' })
  t.match(models['gpt-4o'], { to: ['azure/gpt-4o-2024-11-20', 'openai/gpt-4o'], balance: 'first' })
  t.match(models['gpt-4.1'], {
    fallback: ['gpt-4o'],
    price: {
      input: { by: 'service_tier', price: { priority: '3.5 USD / 1M', default: '2 USD / 1M' } },
    },
  })
  t.match(route, { retries: 10, body: { limit: '20MiB' } })
  t.ok(notes.some(({ name }) => name === 'router_settings.num_retries'))
})

t.test('import litellm: credentials of Bedrock and Vertex AI', async t => {
  const { upstreams, variables, models } = convertFixture('bedrock')
  t.same(upstreams.bedrock.auth.aws, {
    region: 'us-east-1',
    service: 'bedrock',
    id: '${BEDROCK_KEY:-unset}',
    secret: '${BEDROCK_KEY_1:-unset}',
    session: '${AWS_SESSION_TOKEN:-unset}',
  })
  t.same(Object.values(variables), [
    'AKIAIOSFODNN7EXAMPLE',
    'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  ])
  t.match(upstreams['bedrock-2'], {
    region: '${AWS_REGION:-us-east-1}',
    auth: { aws: { id: '${AWS_ACCESS_KEY_ID:-unset}' } },
  })
  t.match(upstreams['bedrock-4'], {
    key: '${AWS_BEARER_TOKEN_BEDROCK:-}',
    url: /^https:\/\/vpce/,
    body: { drop: ['response_format'] },
  })
  t.equal(models['claude-haiku'].to, 'bedrock-2/us.anthropic.claude-haiku-4-5-20251001-v1:0')
  t.same(models['claude-sonnet-4-5'].price.input, [
    { price: '6 USD / 1M', when: { prompt: '> 200k' } },
    '3 USD / 1M',
  ])
  t.equal(models['titan-embed'], undefined)

  const vertex = convertFixture('vertex')
  t.match(vertex.upstreams, {
    vertex: {
      auth: { google: '${file:keys/account.json}' },
      region: 'europe-west4',
      project: 'my-project',
    },
    'vertex-2': {
      auth: { google: '${VERTEX_2_KEY:-metadata}' },
      url: /locations\/global$/,
      project: '${GCP_PROJECT:-project}',
    },
    'vertex-3': { auth: { google: '${VERTEX_CREDENTIALS:-metadata}' } },
  })
  t.match(vertex.variables.VERTEX_2_KEY, /service_account/)
  t.match(vertex.models, {
    claude: { traits: { formats: ['anthropic-messages'] } },
    llama: {
      to: 'vertex-3/meta/llama-3.3-70b-instruct-maas',
      traits: { formats: ['openai-chat'] },
    },
  })
})

t.test('import litellm: limits of groups, aliases and fallbacks', async t => {
  const { limits, models, upstreams, notes } = convertFixture('router')
  t.same(limits.models, {
    fast: { requests: '100/min', concurrency: 50 },
    slow: { concurrency: 40 },
    only: { requests: '100/min', concurrency: 20 },
  })
  const tpm = notes.filter(({ name }) => name.endsWith('.tpm'))
  t.same(
    tpm.map(({ name }) => name),
    ['model_list[0].litellm_params.tpm', 'model_list[1].litellm_params.tpm'],
  )
  t.match(models.slow, { balance: 'least-busy', aliases: ['gpt-4'] })
  t.match(
    notes.find(({ name }) => /routing_strategy$/.test(name))?.reason,
    'fast has least-busy, slow has least-busy',
  )
  t.match(upstreams.openai.health, { failures: 4, eject: '5s' })
  const listed = convert(
    'model_list: [{model_name: a, litellm_params: {model: gpt-4o}}]\nrouter_settings: {model_group_alias: {b: a}}',
  )
  t.same(listed.models.b, listed.models.a, 'lists show an alias that is not hidden')
})

t.test('import litellm: weights are those of simple-shuffle', async t => {
  const group = (...params: readonly string[]) =>
    convert(
      `model_list:\n${params.map(each => `- {model_name: m, litellm_params: {model: gpt-4o, ${each}}}`).join('\n')}`,
    )
  const [a, b] = ['openai/gpt-4o', 'openai-2/gpt-4o']
  const keys = ['api_key: os.environ/A', 'api_key: os.environ/B']
  t.match(group(`${keys[0]}, rpm: 2`, `${keys[1]}, rpm: 6`).models.m, {
    to: [
      { to: a, weight: 2 },
      { to: b, weight: 6 },
    ],
    balance: 'weighted',
  })
  t.match(group(`${keys[0]}`, `${keys[1]}, weight: 6`).models.m, {
    to: [a, b],
    balance: 'round-robin',
  })
  const one = group(`${keys[0]}, weight: 1`, `${keys[1]}`)
  t.match(one.models.m, { to: a })
  t.ok(one.notes.some(({ reason }) => /never picked/.test(reason)))
})

t.test('import litellm: budgets become quotas with their periods', async t => {
  const { limits, notes } = convertFixture('teams')
  t.same(limits, {
    key: { tokens: '100000/min', requests: '60/min', concurrency: 4 },
    account: { requests: '100/min', tokens: '50000/min' },
  })
  const reasonOf = (name: string) => notes.find(each => each.name === name)?.reason
  t.match(reasonOf('litellm_settings.max_budget'), '--quota 50000000/month` (100 USD a month)')
  t.match(
    reasonOf('litellm_settings.default_team_params.budget_duration'),
    '"7d" has no counterpart',
  )
  t.match(
    reasonOf('router_settings.provider_budget_config.openai.budget_limit'),
    'an upstream has no budget',
  )
  t.match(reasonOf('litellm_settings.max_end_user_budget'), '--quota 250000` (0.5 USD)')
})

t.test(
  'import litellm: models of other kinds have the formats and meters of their routes',
  async t => {
    const formats = (name: string) =>
      Object.entries<{ traits?: { formats: string[] } }>(convertFixture(name).models).map(
        ([model, { traits }]) => `${model} ${traits?.formats}`,
      )
    t.same(formats('audio'), [
      'whisper openai-transcription',
      'whisper-azure openai-transcription',
      'tts openai-speech',
      'whisper-groq openai-transcription',
      'gpt-audio undefined',
    ])
    t.same(formats('images').slice(0, 5), [
      'dall-e-3 openai-images',
      'gpt-image-1 openai-images',
      'dalle-azure openai-images',
      'grok-image openai-images',
      'o3-pro openai-responses',
    ])
    t.same(formats('embeddings').slice(1, 4), [
      'gemini-embedding google-embeddings',
      'cohere-embed openai-embeddings',
      'rerank cohere-rerank',
    ])
    const { models } = convertFixture('audio')
    t.match(models.whisper, {
      price: { seconds: '0.0001 USD' },
      defaults: { '*': { language: 'en' } },
    })
    t.match(models.tts, { price: { characters: '15 USD / 1M' } })
    t.match(convertFixture('embeddings').models.rerank, { price: { search_units: '2 USD / 1k' } })
  },
)

t.test('import litellm: models without a price have that of the price book', async t => {
  const { models, notes } = convertFixture('wildcards')
  const of = (name: string) => models[name]?.price
  t.match(of('openai/gpt-4.1'), { input: '2.00 USD / 1M', output: '8.00 USD / 1M' })
  t.match(models['openai/whisper-1'], {
    to: 'openai/whisper-1',
    traits: { formats: ['openai-transcription'] },
    price: { seconds: '0.0001 USD' },
  })
  t.match(of('claude-sonnet-4-5'), { cache_write: '3.75 USD / 1M' })
  t.match(models['openrouter/*'], { free: true })
  t.ok(notes.some(({ name, reason }) => name === 'model_list[0].model_name' && /book/.test(reason)))
  const one = (model: string, more = '') =>
    convert(`model_list: [{model_name: m, litellm_params: {model: ${model}${more}}}]`).models.m
  t.match(one('gpt-4o-2024-08-06'), { price: { input: '2.50 USD / 1M' } })
  t.match(one('gpt-4o-2024-05-13'), { price: { input: '5.00 USD / 1M' } })
  t.match(one('azure/gpt-4o', ', api_base: "https://x.openai.azure.com"'), {
    price: { input: '2.50 USD / 1M' },
  })
  t.match(one('openai/gpt-4o', ', api_base: "http://10.0.0.1/v1"'), { free: true })
  t.match(one('openai/gpt-4o', ', input_cost_per_token: 1'), {
    price: { input: '1000000 USD / 1M' },
  })
  t.match(one('bedrock/anthropic.claude-sonnet-4-5-v1:0'), { free: true }, 'regions differ')
})

t.test('import litellm: servers that speak like OpenAI', async t => {
  const { upstreams, models } = convertFixture('servers')
  t.match(upstreams, {
    ollama: { preset: 'ollama', url: 'http://localhost:11434/v1' },
    'ollama-2': { url: '${OLLAMA_BASE:-http://127.0.0.1:11434}/v1' },
    openai: { url: 'http://10.0.0.6:8000/v1', formats: ['openai-chat'] },
  })
  t.notOk(upstreams.openai.preset)
  t.match(models.qwen, {
    to: ['vllm/Qwen/Qwen3-32B', 'openai/Qwen/Qwen3-32B'],
    balance: 'round-robin',
  })
  t.match(models.free.price, { input: '0 USD / 1M' })
})

t.test('import litellm: values of a wrong kind are named', async t => {
  const { notes, models } = convert(
    'model_list:\n- {model_name: a, litellm_params: {model: gpt-x, rpm: os.environ/RPM, timeout: [1], api_key: {}, weight: x}, model_info: {input_cost_per_token: free}}\n- 7\n- {}\nrouter_settings: {disable_cooldowns: 3, model_group_alias: [1], fallbacks: {a: b}}\nenvironment_variables: {A-B: 1}\nlitellm_settings: 5',
  )
  t.same(Object.keys(models), ['a'])
  t.same(
    notes.map(({ name }) => name).sort(),
    [
      'environment_variables.A-B',
      'litellm_settings',
      'model_list[0].litellm_params.api_key',
      'model_list[0].litellm_params.rpm',
      'model_list[0].litellm_params.timeout',
      'model_list[0].litellm_params.weight',
      'model_list[0].model_info.input_cost_per_token',
      'model_list[0].model_name',
      'model_list[1]',
      'model_list[2]',
      'router_settings.disable_cooldowns',
      'router_settings.fallbacks.a',
      'router_settings.model_group_alias[0]',
    ].sort(),
  )
  for (const text of [
    '',
    'model_list: []',
    'model_list: 7',
    '[]',
    'other: 1',
    'model_list: [{model_name: a}]',
  ])
    t.same(convert(text).models, {}, text)
})
