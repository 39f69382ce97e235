/** `tollgate import litellm`: what it writes passes check and serves; plain keys go to .env. */
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { usedFolder } from '../../../helpers/cache.ts'
import { useShippedPlugins } from '../../../helpers/environment.ts'
import { tollgate, withOutput } from '../../../helpers/gateway/command-line.ts'
import { startPrimary } from '../../../helpers/gateway/primary.ts'
import { startHttpUpstream } from '../../../helpers/gateway/test-server.ts'
import { temporaryFolder } from '../../../helpers/store/store.ts'

const FIXTURES = fileURLToPath(new URL('../../../fixtures/litellm/', import.meta.url))

/** A folder for a new configuration, which uses the shipped plugins until the end of the test. */
const prepare = (t: Test) => {
  useShippedPlugins(t)
  const folder = temporaryFolder(t)
  const config = join(folder, 'routes.yaml')
  const env = { TOLLGATE_CONFIG: config, TOLLGATE_DATA: usedFolder(join(folder, 'data')) }
  const run = (...words: string[]) => tollgate(words, env)
  const source = (text: string): string => {
    writeFileSync(join(folder, 'config.yaml'), text)
    return join(folder, 'config.yaml')
  }
  return { folder, config, env, run, source }
}

for (const file of globSync(`${FIXTURES}*.yaml`))
  t.test(`import litellm: ${basename(file)} becomes a valid configuration`, async t => {
    const { folder, config, run } = prepare(t)
    const result = await run('import', 'litellm', file, '--write', config)
    t.equal(result.code, 0, result.err)
    const { upstreams } = parse(readFileSync(config, 'utf8'))
    // Files that the source names must exist: a key file, and the text of one.
    const account = existsSync(join(folder, '.env')) ? '.env' : ''
    for (const { auth } of Object.values<{ auth?: { google?: string } }>(upstreams)) {
      const [, path] = /^\$\{file:(.*)\}$/.exec(auth?.google ?? '') ?? []
      if (path === undefined) continue
      t.match(await run('check'), { code: 1, err: /FILE_MISSING/ }, 'the message names the file')
      writeFileSync(config, readFileSync(config, 'utf8').replace(`\${file:${path}}`, 'metadata'))
    }
    if (account && readFileSync(join(folder, '.env'), 'utf8').includes('service_account'))
      t.match(await run('check'), { code: 1 }, 'a key that is none is named')
    else t.match(await run('check'), { code: 0, out: /no problems/ })
  })

const TWO = `model_list:
  - model_name: a
    litellm_params: { model: openai/gpt-4o, api_key: sk-plain-1, api_base: "https://one.example/v1" }
  - model_name: b
    litellm_params: { model: openai/gpt-4o, api_key: "sk \\" plain' 2", api_base: "https://two.example/v1" }
environment_variables: { SOME: "value \${X}" }
`

t.test('import litellm: plain keys go to .env, which only its owner reads', async t => {
  const { folder, config, run, source } = prepare(t)
  const file = source(TWO)
  const printed = await run('import', 'litellm', file)
  t.match(printed, { code: 0, out: /key: \$\{OPENAI_KEY:-\}/ })
  t.notMatch(printed.out + printed.err, /sk-plain/)
  t.notOk(existsSync(join(folder, '.env')), 'nothing is written without --write')
  const json = await run('import', 'litellm', file, '--json')
  t.same(JSON.parse(json.out).variables, ['OPENAI_KEY', 'OPENAI_2_KEY', 'SOME'])
  t.notMatch(json.out, /sk-plain/)

  const other = join(folder, 'other')
  mkdirSync(other)
  writeFileSync(join(other, '.env'), 'MINE=1\nOPENAI_KEY=another', { mode: 0o644 })
  const result = await run('import', 'litellm', file, '--write', join(other, 'routes.yaml'))
  t.match(result, {
    code: 0,
    err: /OPENAI_KEY is in \.env already, with another value, which stays/,
  })
  t.notMatch(result.err, /sk-plain|another$/)

  t.equal((await run('import', 'litellm', file, '--write', config)).code, 0)
  t.equal(statSync(join(folder, '.env')).mode & 0o777, 0o600)
  t.equal(statSync(join(other, '.env')).mode & 0o777, 0o600)
  t.equal(
    readFileSync(join(folder, '.env'), 'utf8'),
    `OPENAI_KEY="sk-plain-1"\nOPENAI_2_KEY=\`sk " plain' 2\`\nSOME="value \${X}"\n`,
  )
  t.notMatch(readFileSync(config, 'utf8'), /sk.*plain/)
  t.match(await run('check'), { code: 0 })
})

t.test('import litellm: exit codes', async t => {
  const { folder, config, run, source } = prepare(t)
  const simple = `${FIXTURES}simple.yaml`
  const lines = readFileSync(simple, 'utf8').split('\n')
  const result = await run('import', 'litellm', simple, '--strict')
  t.match(result, {
    code: 1,
    err: /simple\.yaml:21: general_settings\.master_key: keys are made by/,
  })
  t.match(lines[20], /master_key/, 'the line is that of the value')
  const whole = source(
    'model_list: [{model_name: a, litellm_params: {model: gpt-4o}, model_info: {input_cost_per_token: 1}}]',
  )
  t.match(await run('import', 'litellm', whole, '--strict'), { code: 0 }, 'nothing was lost')
  for (const text of [
    '',
    '# nothing',
    'model_list: []',
    'general_settings: {master_key: a}',
    '[1]',
    'text',
  ]) {
    const empty = await run('import', 'litellm', source(text), '--write', config)
    t.match(empty, { code: 1, err: /no model that can be carried: nothing was written/ }, text)
    t.notOk(existsSync(config))
  }
  t.match(await run('import', 'litellm', `${folder}/none.yaml`), { code: 2, err: /cannot read/ })
  t.match(await run('import', 'litellm', source('model_list: [\n')), { code: 3, err: /line 2: / })
  writeFileSync(config, 'mine')
  t.match(await run('import', 'litellm', simple, '--write', config), { code: 2, err: /exists/ })
  t.equal(readFileSync(config, 'utf8'), 'mine')
})

t.test('import litellm: every route reaches the provider with its key', async t => {
  const { folder, config, env, run, source } = prepare(t)
  const received: string[] = []
  const upstream = await startHttpUpstream(t, (request, response) => {
    request.resume()
    request.on('end', () => {
      received.push(`${request.url} ${request.headers.authorization}`)
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(ANSWERS[request.url ?? ''] ?? {}))
    })
  })
  const address = `${upstream}/v1`
  const file = source(
    `model_list:\n${Object.entries(MODES)
      .map(
        ([mode, model]) =>
          `- {model_name: ${mode}, litellm_params: {model: openai/${model}, api_key: sk-plain, api_base: "${address}"}, model_info: {mode: ${mode}}}`,
      )
      .join('\n')}`,
  )
  t.equal((await run('import', 'litellm', file, '--write', config)).code, 0)
  const gateway = await startPrimary(t, { files: {}, folder, env: { TOLLGATE_PLUGINS: '' } })
  t.equal((await withOutput(t, ['accounts', 'create', 'ann'], env)).code, 0)
  const { out } = await withOutput(t, ['keys', 'create', 'ann'], env)
  const [key = ''] = /sk-\w+/.exec(out) ?? []
  const form = new FormData()
  form.set('model', 'audio_transcription')
  form.set('file', new Blob(['RIFF']), 'a.wav')
  const calls: Readonly<Record<string, unknown>> = {
    '/v1/chat/completions': { model: 'chat', messages: [{ role: 'user', content: 'x' }] },
    '/v1/embeddings': { model: 'embedding', input: 'x' },
    '/v1/rerank': { model: 'rerank', query: 'x', documents: ['a'] },
    '/v1/moderations': { model: 'moderation', input: 'x' },
    '/v1/images/generations': { model: 'image_generation', prompt: 'x' },
    '/v1/audio/speech': { model: 'audio_speech', input: 'x', voice: 'alloy' },
    '/v1/audio/transcriptions': form,
    '/v1/responses': { model: 'responses', input: 'x' },
  }
  for (const [path, body] of Object.entries(calls)) {
    const isForm = body instanceof FormData
    const response = await fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        ...(!isForm && { 'content-type': 'application/json' }),
      },
      body: isForm ? body : JSON.stringify(body),
    })
    t.equal(response.status, 200, `${path} ${await response.text()}`)
    t.equal(received.at(-1), `${path} Bearer sk-plain`)
  }
})
const MODES = {
  chat: 'gpt-4o',
  embedding: 'e',
  rerank: 'r',
  moderation: 'm',
  image_generation: 'i',
  audio_speech: 's',
  audio_transcription: 't',
  responses: 'o3',
}
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
const ANSWERS: Readonly<Record<string, unknown>> = {
  '/v1/chat/completions': {
    id: 'c',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
    usage,
  },
  '/v1/embeddings': {
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [1] }],
    usage,
  },
  '/v1/rerank': { results: [{ index: 0, relevance_score: 1 }] },
  '/v1/moderations': { id: 'm', model: 'm', results: [] },
  '/v1/images/generations': { created: 1, data: [{ b64_json: 'AA==' }] },
  '/v1/audio/transcriptions': { text: 'x' },
  '/v1/responses': {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'o3',
    output: [
      {
        type: 'message',
        id: 'm',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'x', annotations: [] }],
      },
    ],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  },
}
