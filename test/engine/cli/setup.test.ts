/** `tollgate init`: what it writes passes check and serves. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { startThrowAwayGateway } from '../../../engine/cli/cases/throw-away-gateway.ts'
import { usedFolder } from '../../helpers/cache.ts'
import { useShippedPlugins } from '../../helpers/environment.ts'
import { recordingTerminal, tollgate } from '../../helpers/gateway/command-line.ts'
import { postTo } from '../../helpers/gateway/post.ts'
import { operatorEnv } from '../../helpers/operator.ts'
import { temporaryFolder } from '../../helpers/store/store.ts'

/** A folder for a new configuration, which uses the shipped plugins until the end of the test. */
const newFolder = (t: Test): string => {
  useShippedPlugins(t)
  return temporaryFolder(t)
}

t.test('init: the result passes check, serves, and is never overwritten', async t => {
  const folder = newFolder(t)
  const config = `${folder}/routes.yaml`
  const env = { TOLLGATE_CONFIG: config, TOLLGATE_DATA: usedFolder(`${folder}/data`) }
  const result = await tollgate(['init', '--provider', 'openai, azure,ollama,anthropic'], env)
  t.match(result, { code: 0, out: /routes\.yaml, .*\.env\.example, .*\.gitignore written/ })
  t.match(await tollgate(['check'], env), { code: 0, out: /no problems/ })
  const { upstreams, models } = parse(readFileSync(config, 'utf8'))
  t.match(upstreams.openai, { preset: 'openai', key: '${OPENAI_API_KEY:-}' })
  t.match(models['gpt-4.1'], {
    to: 'openai/gpt-4.1',
    price: { input: { by: 'service_tier', price: { default: '2.00 USD / 1M' } } },
  })
  t.match(models['claude-sonnet-4-5'], { title: /^CL Sonnet 4\.5$/ }, 'not its variant')
  t.match(models['azure/*'], { to: 'azure/*' })
  t.match(readFileSync(`${folder}/.env.example`, 'utf8'), /^#AZURE_RESOURCE=$/m)
  t.match(readFileSync(`${folder}/.gitignore`, 'utf8'), /^\.env$/m)

  const terminal = recordingTerminal(operatorEnv() as Record<string, string>)
  const gateway = await startThrowAwayGateway(config, {}, terminal)
  t.teardown(() => gateway.stop())
  const response = await postTo(
    `${gateway.url}/v1/messages`,
    {
      model: 'gpt-4.1',
      max_tokens: 50,
      messages: [{ role: 'user', content: 'Hello' }],
    },
    { 'x-api-key': gateway.key },
  )
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
