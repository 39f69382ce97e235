/** Lines and metrics of requests under load over two workers: `logs -f` prints each request once,
 *  `request ID` shows the attempts of a retried call, and metrics count its tokens. */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { plainAnswers } from '../../helpers/formats/plain-answers.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { bearer, postChat } from '../../helpers/gateway/post.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'
import { operatorEnv } from '../../helpers/operator.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const PROGRAM = join(ROOT, 'engine/bin.cjs')
const [CALLS, CLIENTS] = [shortOrLong(300, 5_000), 12]
const ANSWER = JSON.stringify(plainAnswers('Hi.', 7, 3)['openai-chat'])
const up = await startHttpUpstream(t, async (request, response) => {
  for await (const _ of request);
  response.setHeader('content-type', 'application/json')
  response.setHeader('x-request-id', 'of the other one')
  response.end(ANSWER)
})
const busy = await startHttpUpstream(t, async (request, response) => {
  for await (const _ of request);
  const headers = { 'content-type': 'application/json', 'retry-after': '0' }
  response.writeHead(503, { ...headers, 'request-id': 'of the busy one' }).end('{}')
})
const routes = `
pipeline: [errors, observe, auth, model, meter, translate]
upstreams:
  busy: { url: '${busy}', key: sk-busy, formats: [openai-chat], health: { failures: 100000 } }
  gone: { url: 'http://127.0.0.1:1', key: sk-gone, formats: [openai-chat] }
  up: { url: '${up}', key: sk-up, formats: [openai-chat] }
models:
  m: { to: up/m, price: { input: 1.00 / 1M, output: 2.00 / 1M } }
  moved: { to: [busy/m, up/m], price: { input: 1.00 / 1M, output: 2.00 / 1M } }
  lost: { to: [gone/m, up/m], free: true }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
`
const gateway = await startGateway({ routes, env: { WORKERS: '2' } })
t.teardown(() => gateway.stop())
const key = await gateway.key()
const folder = t.testdirName
mkdirSync(folder, { recursive: true })
const config = join(folder, 'routes.yaml')
writeFileSync(
  config,
  `settings: { data: '${gateway.data}', plugins: ['${join(ROOT, 'plugins')}'] }\n${routes}`,
)
const start = (...args: string[]) => {
  const env = operatorEnv({ TOLLGATE_DATA: gateway.data })
  const child = spawn(process.execPath, [PROGRAM, ...args, '-c', config], { cwd: folder, env })
  const output = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', text => (output.out += text))
  child.stderr.setEncoding('utf8').on('data', text => (output.err += text))
  const code = new Promise(resolve => child.on('close', resolve))
  return { child, output, code }
}
const run = async (...args: string[]): Promise<string> => {
  const { output, code } = start(...args)
  t.equal(await code, 0, `${args.join(' ')} ${output.err}`)
  return output.out
}
await run('accounts', 'credit', 'admin', '1000')

/** The id of a call on a connection of its own, so that both workers serve. */
const call = async (model: string): Promise<string> => {
  const response = await postChat(gateway.url, model, { ...bearer(key), connection: 'close' })
  const text = await response.text()
  if (response.status !== 200) throw new Error(text)
  return response.headers.get('x-request-id') ?? ''
}

t.test('logs -f: prints every finished request of both workers once', async t => {
  const first = await call('m')
  const { child, output, code } = start('logs', '-f', '--json')
  t.teardown(() => child.kill('SIGKILL'))
  await eventually(() => output.out.includes(first))
  const ids: string[] = []
  const client = async (): Promise<void> => {
    for (let count = 0; count < CALLS / CLIENTS; count++)
      ids.push(await call(count % 10 === 0 ? 'moved' : 'm'))
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  const records = () => {
    const lines = output.out.split('\n').slice(0, -1)
    return lines.map(line => JSON.parse(line) as { id: string; process: string; account: number })
  }
  await eventually(() => records().length > ids.length)
  child.kill('SIGINT')
  t.equal(await code, 0)
  t.same(
    records()
      .map(({ id }) => id)
      .sort(),
    [first, ...ids].sort(),
  )
  t.equal(new Set(records().map(each => each.process)).size, 2, 'both workers served')
})

t.test('request ID: shows who, the attempts of a retried call, and its price', async t => {
  const id = await call('moved')
  const out = await eventually(async () => {
    const text = await run('request', id)
    return text.includes('attempt 1') ? text : undefined
  })
  t.match(out, /^who +admin \(1\), key 1$/m)
  t.match(
    out,
    /^attempt 1 +busy\/m: 503 after \d+ ms, key [0-9a-f]{12}, sent at [\d.]+ ms, retry-after 0, its id of the busy one$/m,
  )
  t.match(out, /^attempt 2 +up\/m: 200 after \d+ ms, sent at [\d.]+ ms, its id of the other one$/m)
  t.match(out, /^times .*first byte after [\d.]+ ms/m)
  t.match(out, /^tokens +7 in, 3 out$/m)
  t.match(out, /7 input x 1\.00\/1M = 0\.000007 CNY\n/)
  const { request } = JSON.parse(await run('request', id, '--json')) as {
    readonly request: {
      readonly first_byte: number
      readonly ms: number
      readonly tries: { start: number }[]
    }
  }
  t.match(request.tries, [
    { upstream: 'busy', result: 503 },
    { upstream: 'up', result: 200 },
  ])
  const [one, two] = request.tries
  t.ok(one && two && one.start < two.start && two.start < request.ms, 'times of the attempts')
  t.ok(request.first_byte > 0 && request.first_byte <= request.ms, 'the first byte comes before')
})

t.test('request ID: of an upstream that cannot be reached, the reason', async t => {
  const id = await call('lost')
  const out = await eventually(async () => {
    const text = await run('request', id)
    return text.includes('attempt 1') ? text : undefined
  })
  t.match(
    out,
    /^attempt 1 +gone\/m: TARGET_UNREACHABLE \(connect ECONNREFUSED 127\.0\.0\.1:1\) after/m,
  )
})

t.test('request ID: of a single attempt, its time and the id of its response', async t => {
  const id = await call('m')
  const out = await eventually(async () => {
    const text = await run('request', id)
    return text.includes('upstream') ? text : undefined
  })
  t.match(out, /^upstream +up\/m, sent at [\d.]+ ms, its id of the other one$/m)
})

t.test('metrics: count tokens and charges, and show addresses and keys at hand', async t => {
  const text = await (await fetch(`${gateway.admin}/metrics`)).text()
  const readSeries = (series: string): number =>
    Number(
      text
        .split('\n')
        .find(each => each.startsWith(`tollgate_${series} `))
        ?.split(' ')[1],
    )
  const calls = readSeries('tokens_total{model="m",upstream="up",kind="input"}') / 7
  t.ok(Number.isInteger(calls) && calls > CALLS / 2, `${calls} calls of 7 tokens`)
  t.equal(readSeries('tokens_total{model="m",upstream="up",kind="output"}'), calls * 3)
  const charged = readSeries('charged_total{model="m",upstream="up"}')
  t.ok(Math.abs(charged - calls * 13e-6) < 1e-9, `charged ${charged}`)
  t.equal(readSeries(`upstreams_unavailable{upstream="up",address="${up}"}`), 0)
  t.match(text, /^tollgate_keys_unavailable\{upstream="up",key="[0-9a-f]{12}"\} 0$/m)
  t.match(text, /^# HELP tollgate_tokens_total Tokens of calls that ended: /m)
  t.notMatch(text, /^# HELP tollgate_\w+ A metric of a plugin\.$/m)
})

t.test('docs/operate.md: every command of "Daily questions" runs', async t => {
  const page = readFileSync(join(ROOT, 'docs/operate.md'), 'utf8')
  const section = /^## Daily questions\n([\s\S]*?)^## /m.exec(page)?.[1] ?? ''
  const commands = [...section.matchAll(/`tollgate ([^`]+)`/g)].map(([, text = '']) => text)
  t.ok(commands.length >= 7, commands.join('; '))
  const id = await call('m')
  await run('accounts', 'create', 'ann')
  const created = JSON.parse(await run('keys', 'create', 'ann', '--json')) as { id: number }
  for (const command of commands) {
    const words = command
      .replace('req_…', id)
      .replace(/(keys \w+) 7/, `$1 ${created.id}`)
      .replace('--models gp-4.1', '--models m')
      .replace(' -f', '')
      .split(' ')
    t.not(await run(...words), '', command)
  }
})
