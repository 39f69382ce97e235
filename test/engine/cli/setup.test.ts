/** `tollgate init` and `tollgate import litellm`: what they write passes check and serves. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { startThrowAwayGateway } from '../../../engine/cli/cases/throw-away-gateway.ts'
import { usedFolder } from '../../helpers/cache.ts'
import { recordingTerminal, tollgate } from '../../helpers/gateway/command-line.ts'
import { operatorEnv } from '../../helpers/operator.ts'
import { temporaryFolder } from '../../helpers/store/store.ts'

const FIXTURES = fileURLToPath(new URL('../../fixtures/litellm', import.meta.url))

/** A folder for a new configuration, which uses the shipped plugins until the end of the test. */
const newFolder = (t: Test): string => {
  delete process.env.TOLLGATE_PLUGINS
  t.teardown(() => {
    process.env.TOLLGATE_PLUGINS = 'none'
  })
  return temporaryFolder(t)
}

t.test('init: the result passes check, serves, and is never overwritten', async t => {
  const folder = newFolder(t)
  const config = `${folder}/routes.yaml`
  const env = { TOLLGATE_CONFIG: config, TOLLGATE_DATA: usedFolder(`${folder}/data`) }
  const result = await tollgate(['init', '--provider', 'openai, azure,ollama'], env)
  t.match(result, { code: 0, out: /routes\.yaml, .*\.env\.example, .*\.gitignore written/ })
  t.match(await tollgate(['check'], env), { code: 0, out: /no problems/ })
  const { upstreams, models } = parse(readFileSync(config, 'utf8'))
  t.match(upstreams.openai, { preset: 'openai', key: '${OPENAI_API_KEY:-}' })
  t.match(models['gpt-4.1'], {
    to: 'openai/gpt-4.1',
    price: { input: { by: 'service_tier', price: { default: '2.00 USD / 1M' } } },
  })
  t.match(models['azure/*'], { to: 'azure/*' })
  t.match(readFileSync(`${folder}/.env.example`, 'utf8'), /^#AZURE_RESOURCE=$/m)
  t.match(readFileSync(`${folder}/.gitignore`, 'utf8'), /^\.env$/m)

  const terminal = recordingTerminal(operatorEnv() as Record<string, string>)
  const gateway = await startThrowAwayGateway(config, {}, terminal)
  t.teardown(() => gateway.stop())
  const response = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': gateway.key, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gpt-4.1',
      max_tokens: 50,
      messages: [{ role: 'user', content: 'Hello' }],
    }),
  })
  t.match(await response.json(), { type: 'message', model: 'gpt-4.1' })
  t.ok(Number(response.headers.get('x-tollgate-charge')) > 0, 'the call is charged')
  t.equal((await fetch(`${gateway.url}/console`)).status, 200, 'the console is there')
  const text = await (await fetch(`${gateway.url}/openapi.json`)).text()
  t.match(text, '/v1/messages', 'the document describes the routes')

  const before = readFileSync(config, 'utf8')
  t.match(await tollgate(['init'], env), { code: 2, err: /exists; nothing was written/ })
  t.equal(readFileSync(config, 'utf8'), before)
})

t.test('init: nothing is written where one file exists; unknown presets are refused', async t => {
  const folder = newFolder(t)
  writeFileSync(`${folder}/.gitignore`, 'mine\n')
  const config = `${folder}/routes.yaml`
  t.match(await tollgate(['init', '-c', config]), { code: 2, err: /\.gitignore exists/ })
  t.notOk(existsSync(config))
  t.match(await tollgate(['init', '--provider', 'opnai', '-c', config]), {
    code: 2,
    err: /no preset "opnai"; did you mean "openai"\?/,
  })
  t.match(await tollgate(['init', '--currency', 'dollars', '-c', config]), { code: 2 })
})

/** Converts a fixture and checks the result. */
const convert = async (t: Test, name: string) => {
  const folder = newFolder(t)
  const config = `${folder}/routes.yaml`
  const env = { TOLLGATE_DATA: usedFolder(`${folder}/data`), TOLLGATE_CONFIG: config }
  const source = `${FIXTURES}/${name}.yaml`
  const result = await tollgate(['import', 'litellm', source, '--write', config], env)
  const checked = await tollgate(['check'], env)
  const document = parse(readFileSync(config, 'utf8'))
  const lines = readFileSync(source, 'utf8').split('\n')
  return { result, checked, document, notes: result.err, config, lines }
}

t.test('import litellm: carries models, keys and prices of a simple configuration', async t => {
  const { result, checked, document, notes } = await convert(t, 'simple')
  t.equal(result.code, 0)
  t.match(checked, { code: 0, out: /no problems/ })
  t.match(document.upstreams, {
    openai: { preset: 'openai', key: '${OPENAI_API_KEY:-}' },
    anthropic: { preset: 'anthropic', key: '${ANTHROPIC_API_KEY:-}' },
  })
  t.match(document.models, {
    'gpt-4o': { price: { input: '2.5 USD / 1M', cached: '1.25 USD / 1M', output: '10 USD / 1M' } },
    'claude-sonnet': { to: 'anthropic/claude-sonnet-4-5', context: 200_000, output: 64_000 },
  })
  t.match(notes, /simple\.yaml:21: general_settings\.master_key: keys are made by/)
  t.match(notes, /3 lines not carried/)
  t.notMatch(notes, /model_list/)
})

t.test('import litellm: carries deployments, weights, limits, fallbacks and aliases', async t => {
  const { checked, document, notes } = await convert(t, 'balanced')
  t.match(checked, { code: 0 })
  t.match(document.models['gpt-4o'], {
    to: [
      { to: 'azure/gpt-4o-eu', weight: 2 },
      { to: 'azure-2/gpt-4o-us', weight: 1 },
    ],
    balance: 'weighted',
    fallback: ['gpt-4o-mini'],
  })
  t.same(document.models['gpt-4'], document.models['gpt-4o'], 'the alias')
  t.match(document.models['gpt-4o-mini'], { defaults: { '*': { temperature: 0.2 } } })
  t.match(document.upstreams, {
    azure: {
      url: 'https://my-resource-eu.openai.azure.com/openai',
      query: { 'api-version': '2024-10-21' },
    },
    'azure-2': { url: '${AZURE_US_BASE:-sandbox:}' },
  })
  t.same(document.limits, { models: { 'gpt-4o': { requests: '500/min', tokens: '200000/min' } } })
  t.match(document.routes[0], { retries: 2, timeout: { first_byte: '30s' } })
  for (const line of [
    /:39: router_settings\.model_group_alias\.lost: there is no model "nothing"/,
    /:43: litellm_settings\.fallbacks\[1\]\.gone: a fallback and its model/,
    /:45: litellm_settings\.cache: responses are not cached/,
  ])
    t.match(notes, line)
})

t.test('import litellm: names what clouds, wildcards and unknown providers need', async t => {
  const { checked, document, notes, lines } = await convert(t, 'clouds')
  t.match(checked, { code: 0 })
  t.match(document.upstreams, {
    bedrock: { preset: 'bedrock', region: 'eu-central-1' },
    vertex: { project: 'my-project', region: 'europe-west4' },
    vllm: { url: 'http://10.0.0.5:8000/v1' },
  })
  t.match(document.models, { 'groq/*': { to: 'groq/*' } })
  t.notOk(document.models.speech)
  t.match(notes, /no preset serves "elevenlabs\/eleven_multilingual_v2"; the model is left out/)
  t.match(notes, /add `auth: \{ aws: … \}` to the upstream "bedrock"/)
  const line = Number(/:(\d+): router_settings\.routing_strategy/.exec(notes)?.[1])
  t.match(lines[line - 1], /latency-based-routing/, 'the line is that of the value')
})

t.test(
  'import litellm: refuses files that are missing, invalid, or would be overwritten',
  async t => {
    const folder = newFolder(t)
    const bad = `${folder}/bad.yaml`
    writeFileSync(bad, 'model_list: [\n')
    t.match(await tollgate(['import', 'litellm', `${folder}/none.yaml`]), {
      code: 2,
      err: /cannot read/,
    })
    t.match(await tollgate(['import', 'litellm', bad]), { err: /line 2: / })
    const simple = `${FIXTURES}/simple.yaml`
    t.match(await tollgate(['import', 'litellm', simple, '--write', bad]), {
      code: 2,
      err: /exists/,
    })
    t.match(await tollgate(['import', 'litellm', simple]), { code: 0, out: /^models:$/m })
    t.equal(dirname(bad), folder)
  },
)
