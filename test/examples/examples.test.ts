/** examples/: each runs as its README says, on a real gateway and providers of their own. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { pageOf } from '../docs/blocks.ts'
import { exampleFiles } from '../docs/examples.ts'
import { freePort } from '../helpers/free-port.ts'
import { tollgate } from '../helpers/gateway/command-line.ts'
import { bearer, postTo } from '../helpers/gateway/post.ts'
import { eventually } from '../helpers/gateway/primary.ts'
import { sharedPostgres } from '../helpers/store/postgres.ts'
import { credit, ROOT, runReadme, startExample, startProvider, startScript } from './run-example.ts'

t.jobs = 3
const FOLDERS = readdirSync(`${ROOT}/examples`, { withFileTypes: true })
  .filter(entry => entry.isDirectory())
  .map(({ name }) => name)

t.test('examples: the index lists every folder, and each has a test here', async t => {
  const own = readFileSync(new URL(import.meta.url), 'utf8')
  t.ok(FOLDERS.length >= 8)
  for (const name of FOLDERS) {
    t.match(pageOf('examples/README.md'), `[${name}](${name}/)`)
    t.match(own, `startExample(t, '${name}'`)
  }
})

t.test('openai-pass-through: request and response pass byte for byte', async t => {
  const provider = await startProvider(t)
  const env = { OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: 'sk-of-the-provider' }
  const gateway = await startExample(t, 'openai-pass-through', env)
  await credit(t, 'openai-pass-through', gateway, env)
  const out = await runReadme('openai-pass-through', gateway, await gateway.key())
  t.match(out, /^\{"id":"chatcmpl-1",.*"content":"Hello from gpt-4\.1-mini\."/)
  t.same(provider.requests(), [
    'POST /v1/chat/completions {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": "Hello"}]}',
  ])
})

t.test('anthropic-on-openai: the answer of OpenAI is a message of Anthropic', async t => {
  const provider = await startProvider(t)
  const env = { OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: 'sk-of-the-provider' }
  const gateway = await startExample(t, 'anthropic-on-openai', env)
  await credit(t, 'anthropic-on-openai', gateway, env)
  const out = await runReadme('anthropic-on-openai', gateway, await gateway.key())
  t.match(JSON.parse(out), {
    type: 'message',
    model: 'claude-sonnet',
    content: [{ type: 'text', text: 'Hello from gpt-4.1.' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 10, output_tokens: 5 },
  })
  t.match(provider.requests(), [/^POST \/v1\/responses \{"model":"gpt-4\.1"/])
})

t.test('rules: a long prompt goes to another model, and the header says so', async t => {
  const provider = await startProvider(t)
  const env = { PROVIDER_URL: provider.url }
  const gateway = await startExample(t, 'rules', env)
  await credit(t, 'rules', gateway, env)
  const out = await runReadme('rules', gateway, await gateway.key())
  t.match(out, /^x-tollgate-rule: long\r$/m)
  t.match(out, '"content":"Hello from model-long."')
})

t.test('plans-and-budgets: the plan pays, and a budget refuses the fifth call', async t => {
  const provider = await startProvider(t)
  const env = { PROVIDER_URL: provider.url }
  const gateway = await startExample(t, 'plans-and-budgets', env)
  await credit(t, 'plans-and-budgets', gateway, env)
  const config = `${ROOT}/examples/plans-and-budgets/routes.yaml`
  const command = (...words: string[]) =>
    tollgate(words, { TOLLGATE_DATA: gateway.data, TOLLGATE_CONFIG: config, ...env })
  await command('plans', 'assign', 'admin', 'starter')
  const other = JSON.parse((await command('keys', 'create', 'admin', '--json')).out).key
  await eventually(async () => {
    await postTo(
      `${gateway.url}/v1/chat/completions`,
      '{"model":"assistant","max_tokens":20,"messages":[{"role":"user","content":"Hello"}]}',
      bearer(other),
    )
    const [plan] = JSON.parse((await command('plans', 'list', 'admin', '--json')).out)
    return Number(plan.used) > 0 || undefined
  })
  const out = await runReadme('plans-and-budgets', gateway, await gateway.key(), {
    'export TOLLGATE_CONFIG': `export TOLLGATE_DATA=${gateway.data} TOLLGATE_CONFIG`,
  })
  t.equal(out.match(/x-tollgate-charge: 0\.000012\r/g)?.length, 4)
  t.match(out, /429[^\n]*\r\n(?:.*\r\n)*x-tollgate-budget: trial; used=60; limit=160; unit=tokens/)
  t.match(out, /admin +starter +active .* 1000000 tokens +\d+ tokens +\d+ tokens /)
  t.match(out, /admin +admin .* active +10$/m, 'the balance pays nothing')
  t.match(out, /trial +key .* 160 tokens +day +UTC +60 /)
})

t.test("teams: the file creates the team; a project's calls stay in its zone", async t => {
  const gateway = await startExample(t, 'teams')
  const secrets = `${t.testdir({})}/secrets.jsonl`
  const out = await runReadme('teams', gateway, await gateway.key(), {
    'export TOLLGATE_CONFIG': `export TOLLGATE_DATA=${gateway.data} TOLLGATE_CONFIG`,
    'secrets.jsonl': secrets,
  })
  t.match(out, /Nothing to change/)
  t.match(
    out,
    /HTTP\/1\.1 200 OK\r\nx-tollgate-charge: .*\r\nHTTP\/1\.1 200 OK\r\nx-tollgate-charge: .*\r\nHTTP\/1\.1 403/,
  )
  t.match(out, /project=records[\s\S]*project=shop|project=shop[\s\S]*project=records/)
  t.match(out, /trial +member +2 bob .* 50000 tokens/)
  t.match(out, /keys:\n +bobs:/)
})

t.test('own-engines: models are discovered, and charged at the price of their pattern', async t => {
  const engine = ['examples/own-engines/engine.mjs', '0', 'model-a', 'model-b']
  const [first, second] = [await startScript(t, engine), await startScript(t, engine)]
  const env = { FIRST_URL: first.url, SECOND_URL: second.url }
  const gateway = await startExample(t, 'own-engines', env)
  await credit(t, 'own-engines', gateway, env)
  const key = await gateway.key()
  const isListed = async () =>
    (await runReadme('own-engines', gateway, key)).includes('own/model-a')
  await eventually(isListed)
  const out = await runReadme('own-engines', gateway, key)
  t.match(out, '{"id":"own/model-b","object":"model"')
  t.match(out, '"max_model_len":32768')
  t.match(out, '"content":"Hello from model-b."')
  const calls = [...first.requests(), ...second.requests()].filter(line => line.startsWith('POST'))
  t.match(calls[0], /"model": ?"model-b"/)
  const response = await postTo(
    `${gateway.url}/v1/chat/completions`,
    '{"model":"own/model-a","messages":[{"role":"user","content":"Hello"}]}',
    bearer(key),
  )
  // 10 tokens at 0.10 and 5 at 0.40 for a million.
  t.equal(response.headers.get('x-tollgate-charge'), '0.000003')
})

t.test('failover: the second provider answers what the first one refuses', async t => {
  const [first, second] = [await startProvider(t, 500), await startProvider(t)]
  const env = { FIRST_URL: first.url, SECOND_URL: second.url }
  const gateway = await startExample(t, 'failover', env)
  await credit(t, 'failover', gateway, env)
  const out = await runReadme('failover', gateway, await gateway.key())
  t.match(out, '"content":"Hello from model-b."')
  t.match(first.requests(), [/"model": ?"model-a"/])
  t.match(second.requests(), [/"model": ?"model-b"/])
})

t.test('video-task: the receiver gets a signed callback for each state', async t => {
  const port = `${await freePort()}`
  const gateway = await startExample(t, 'video-task', { EGRESS_ALLOW: `127.0.0.1:${port}` })
  const receiver = pageOf('examples/video-task/receiver.mjs').replace('8443', port)
  const path = `${t.testdir({})}/receiver.mjs`
  writeFileSync(path, receiver)
  const out = await runReadme('video-task', gateway, await gateway.key(), {
    'examples/video-task/receiver.mjs': path,
    '127.0.0.1:8443': `127.0.0.1:${port}`,
  })
  const id = /"task_id":"([^"]+)"/.exec(out)?.[1] ?? 'none'
  t.match(out, `genuine ${id} success`)
  t.notMatch(out, 'forged')
})

t.test('stripe-checkout: a payment becomes credit once', async t => {
  const gateway = await startExample(t, 'stripe-checkout')
  const key = await gateway.key()
  const balance = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${key}` }
    const response = await fetch(`${gateway.url}/api/user/self`, { headers })
    return Number(((await response.json()) as { data: { balance: number } }).data.balance)
  }
  const before = await balance()
  const out = await runReadme('stripe-checkout', gateway, key)
  t.match(out, /^200 \{"received":true\}\n200 \{"received":true\}\n401 /)
  t.equal(out.match(/200 \{"received":true\}/g)?.length, 5, 'the plan is not credit')
  t.equal(Math.round((await balance()) * 100), Math.round(before * 100) + 1250)
})

t.test('alerts: a failing upstream is a message in the chat', async t => {
  const [first, second] = [await startProvider(t, 500), await startProvider(t)]
  const messages: string[] = []
  const chat = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    messages.push(JSON.parse(text).text)
    response.end('ok')
  }).listen(0, '127.0.0.1')
  await once(chat, 'listening')
  t.teardown(() => chat.close())
  const { port } = chat.address() as AddressInfo
  const env = {
    FIRST_URL: first.url,
    SECOND_URL: second.url,
    ALERT_URL: `http://127.0.0.1:${port}/`,
  }
  const gateway = await startExample(t, 'alerts', env)
  const out = await runReadme('alerts', gateway, await gateway.key(), {
    'node engine/bin.cjs': `TOLLGATE_DATA=${gateway.data} ALERT_URL=${env.ALERT_URL} node engine/bin.cjs`,
  })
  t.match(out, /slack +127\.0\.0\.1:\d+ +delivered/)
  t.match(out, '"content":"Hello from model-b."')
  t.match(out, /upstream_down +first .* firing/)
  await eventually(() =>
    messages.some(text => text.startsWith('ALERT Tollgate: upstream_down first')),
  )
})

t.test('actions: a row that was changed or removed in the store is found', async t => {
  const gateway = await startExample(t, 'actions')
  const out = await runReadme('actions', gateway, await gateway.key(), {
    'export TOLLGATE_CONFIG': `export TOLLGATE_DATA=${gateway.data} TOLLGATE_CONFIG`,
  })
  t.match(out, /accounts rename[\s\S]*the log is intact/)
  t.match(out, /break: row \d+ was changed[\s\S]*status 1[\s\S]*gap: row \d+ is missing/)
})

t.test('own-format: a question and its answer, plain and as events, charged', async t => {
  const provider = await startProvider(t)
  const env = { OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: 'sk-of-the-provider' }
  const gateway = await startExample(t, 'own-format', env)
  await credit(t, 'own-format', gateway, env)
  const out = await runReadme('own-format', gateway, await gateway.key())
  t.match(
    out,
    /^\{"model":"gpt-4\.1-mini","text":"Hello from gpt-4\.1-mini\.","used":\{"in":10,"out":5\}\}/,
  )
  t.match(
    out,
    /data: \{"model":"gpt-4\.1-mini","text":"[\s\S]*data: \{.*"used":\{"in":\d+,"out":\d+\}\}/,
  )
  t.match(provider.requests(), [
    /"content": ?"Hello\?".*100|100.*"content": ?"Hello\?"/,
    /"stream": ?true/,
  ])
})

t.test('realtime: a session answers and counts its usage', async t => {
  const gateway = await startExample(t, 'realtime')
  const client = pageOf('examples/realtime/client.mjs')
    .replace('127.0.0.1:8080', gateway.url.replace('http://', ''))
    .replace("from 'ws'", `from '${import.meta.resolve('ws')}'`)
  const path = `${t.testdir({})}/client.mjs`
  writeFileSync(path, client)
  const out = await runReadme('realtime', gateway, await gateway.key(), {
    'examples/realtime/client.mjs': path,
  })
  t.match(
    out,
    /response\.output_text\.delta \S[\s\S]*response\.done[\s\S]*usage .*"input_tokens":\d+/,
  )
})

t.test('jwt-auth: a token opens its account; one with another signature is refused', async t => {
  const gateway = await startExample(t, 'jwt-auth')
  const out = await runReadme('jwt-auth', gateway, '')
  const [answer = '', refusal = ''] = out.trim().split('\n')
  t.match(answer, '"object":"chat.completion"')
  t.match(refusal, 'The token is not valid: its signature is wrong.')
})

t.test('identity: the claims of a token name account, member and role', async t => {
  const provider = spawn(process.execPath, [`${ROOT}/examples/identity/provider.mjs`], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => provider.kill())
  const [line] = await once(provider.stdout, 'data')
  const issuer = String(line).trim()
  const gateway = await startExample(t, 'identity', { ISSUER: issuer })
  const out = await runReadme('identity', gateway, '', {
    '127.0.0.1:8091': issuer.replace('http://', ''),
  })
  const [answer = '', reader = '', other = '', info = '', page = '', session = ''] = out
    .trim()
    .split('\n')
  t.match(page, '<title>Tollgate</title>')
  t.match(session, /"member":\{"id":\d+,"name":"ann@acme.example","role":"member"\}/)
  t.match(answer, '"object":"chat.completion"')
  t.match(reader, /needs the role owner or admin or member/)
  t.match(other, 'The token is for another audience than this gateway')
  t.match(info, /acme/)
})

t.test('jwt-auth: its plugin is that of docs/plugins.md', async t => {
  const documented = exampleFiles.find(({ file }) => file === 'plugins/jwt.ts')?.text
  t.equal(pageOf('examples/jwt-auth/plugins/jwt.ts'), documented)
})

t.test('billing-line: the receipt has a line for the article', async t => {
  const provider = await startProvider(t)
  const env = { OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: 'sk-of-the-provider' }
  const gateway = await startExample(t, 'billing-line', env)
  await credit(t, 'billing-line', gateway, env)
  const out = await runReadme('billing-line', gateway, await gateway.key())
  t.match(provider.requests().join(''), 'A refund is paid within 14 days')
  t.match(out, /"meter":"search_units"/)
})

t.test('several-machines: two gateways share keys and limits', async t => {
  const DATABASE_URL = await (await sharedPostgres()).create()
  const first = await startExample(t, 'several-machines', { DATABASE_URL })
  await credit(t, 'several-machines', first, { DATABASE_URL })
  const second = await startExample(t, 'several-machines', { DATABASE_URL })
  const port = (gateway: typeof first): string => `${gateway.port}`
  const out = await runReadme('several-machines', first, await first.key(), {
    '8080 8081 8080 8081': `${port(first)} ${port(second)} ${port(first)} ${port(second)}`,
  })
  t.equal(out, '200\n200\n200\n429\n')
  await t.test('a balancer of deploy/nginx.conf reaches both', { skip: NO_NGINX }, async t => {
    const url = await startBalancer(t, [first.port, second.port])
    const call = () => fetch(`${url}/v1/chat/completions`, { method: 'POST' })
    for (const { status } of await Promise.all(Array.from({ length: 8 }, call)))
      t.equal(status, 401, 'a call without a key')
    for (const { admin } of [first, second])
      t.match(await (await fetch(`${admin}/metrics`)).text(), /requests_total\{.*status="401"/)
  })
})

const NO_NGINX = spawnSync('nginx', ['-v']).error !== undefined && 'nginx is not installed'
/** nginx with the file of deploy/, between the given gateways. */
const startBalancer = async (t: Test, ports: readonly number[]): Promise<string> => {
  const listen = await freePort()
  const config = ports
    .reduce(
      (text, port, index) => text.replace(`gateway-${index + 1}:8080`, `127.0.0.1:${port}`),
      pageOf('deploy/nginx.conf'),
    )
    .replace('listen 8080', `listen 127.0.0.1:${listen}`)
    .replace('http {', 'http {\n  access_log off;')
  const folder = t.testdir({ 'nginx.conf': `pid nginx.pid;\ndaemon off;\n${config}` })
  const child = spawn('nginx', ['-p', folder, '-c', 'nginx.conf', '-e', 'error.log'])
  t.teardown(() => child.kill())
  await eventually(() =>
    fetch(`http://127.0.0.1:${listen}/`).then(
      () => true,
      () => false,
    ),
  )
  return `http://127.0.0.1:${listen}`
}
