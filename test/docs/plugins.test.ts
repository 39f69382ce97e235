/** docs/plugins.md: its plugins compile and work, and its commands run in a fresh clone. */
import { spawnSync } from 'node:child_process'
import { createHash, createHmac } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import t, { type Test } from 'tap'
import type { Plugin } from '../../engine/plugin.ts'
import type { FilteredReply } from '../../engine/response/filters.ts'
import { ACCOUNT } from '../../plugins/slots.ts'
import { fakeExchange, fakeHost, readReply } from '../helpers/gateway/fake-exchange.ts'
import { startGateway } from '../helpers/gateway/gateway.ts'
import { bearer, postTo } from '../helpers/gateway/post.ts'
import { SILENT_LOG, startHttpUpstream, startTestServer } from '../helpers/gateway/test-server.ts'
import { operatorEnv, plainCommand } from '../helpers/operator.ts'
import { LONG } from '../helpers/run-settings.ts'
import { startAnyStore } from '../helpers/store/store.ts'
import { blocksOf, sessionOf } from './blocks.ts'
import { clone } from './clone.ts'
import { exampleFiles, exampleOf } from './examples.ts'

const PAGE = 'docs/plugins.md'
const root = fileURLToPath(new URL('../..', import.meta.url))

t.test(
  'docs/plugins.md: its plugins compile and its commands run in a fresh clone',
  { skip: !LONG && 'CI and the long form run them' },
  async t => {
    const copy = await clone(t)
    // The test of the guard is run by plugin-guard.test.ts.
    const files = blocksOf(PAGE).filter(({ file }) => file !== '' && !file.startsWith('test/'))
    t.ok(files.length >= 4)
    const output = await copy.start()
    for (const { file, text } of files) writeFileSync(join(copy.folder, file), text)
    await output.until(/reload #\d+: .*route/)
    // The test that `plugin new` writes is run by the README's session.
    const out = await copy.shell(sessionOf(PAGE).replace(/^npx --no-install tap .*$/m, ''))
    t.match(out, /no problems \(2 routes/)
    t.match(out, /x-route: GET \/items\/\{id\}/)
    t.match(out, /"time":"20\d\d-/)

    // Also checks the plugins that `plugin new` wrote.
    const config = readFileSync(join(root, 'tsconfig.json'), 'utf8')
    writeFileSync(join(copy.folder, 'tsconfig.json'), config.replace('"engine", ', ''))
    const types = spawnSync(...plainCommand(join(root, 'node_modules/.bin/tsc'), '--noEmit'), {
      cwd: copy.folder,
      env: operatorEnv(),
      encoding: 'utf8',
    })
    t.equal(types.stdout + types.stderr, '')
  },
)

t.test('docs/plugins.md: no example has the name of a shipped plugin', t => {
  const replaced = exampleFiles.filter(({ file }) =>
    [file, file.replace(/\.ts$/, '')].some(path => existsSync(join(root, path))),
  )
  t.same(replaced, [])
  t.end()
})

t.test('docs/plugins.md: its span line has trace, target and times', async t => {
  const url = await startHttpUpstream(t, (_, response) => void response.end('{}'))
  const lines: object[] = []
  const { url: gateway } = await startTestServer(
    t,
    { spans: await exampleOf(t, 'spans') },
    {
      upstreams: { main: { url } },
      routes: [{ path: 'GET /items/{id}', upstream: 'main', spans: 0 }],
    },
    { ...SILENT_LOG, info: (fields, text) => void (text === 'span' && lines.push(fields)) },
  )
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  await (await fetch(`${gateway}/items/7`, { headers: { traceparent } })).text()
  t.match(lines, [
    {
      trace: '0af7651916cd43dd8448eb211c80319c',
      end: 'complete',
      upstream: 'main',
      ms: { whole: Number, first: Number, waited: Number },
    },
  ])
})

t.test('docs/plugins.md: its clock answers as it describes', async t => {
  const clock = await exampleOf(t, 'clock')
  const stage = await clock.setup({ opens: 0 }, {} as never)
  const about = stage.describe?.()
  t.equal(about?.summary, 'Shows the time')
  const ajv = addFormats.default(new Ajv2020())
  const isValid = ajv.compile(Object(about?.responses?.['application/json']))
  const { url } = await startTestServer(
    t,
    { clock },
    { routes: [{ path: 'GET /time', clock: { opens: 0 } }] },
  )
  t.ok(isValid(await (await fetch(`${url}/time`)).json()))
  t.notOk(isValid({ time: 'soon' }))
})

t.test('docs/plugins.md: its signer signs the request that arrives', async t => {
  const signer = blocksOf(PAGE).find(({ file }) => file === 'plugins/hmac.ts')?.text ?? ''
  const secret = Buffer.from('a secret of the upstream')
  const verdicts: boolean[] = []
  const url = await startHttpUpstream(t, async (incoming, response) => {
    const hash = createHash('sha256')
    for await (const part of incoming) hash.update(part as Buffer)
    const { host, authorization = '', 'x-ms-date': date } = incoming.headers
    const signed = `${incoming.method}\n${incoming.url}\n${date};${host};${hash.digest('base64')}`
    const signature = createHmac('sha256', secret).update(signed).digest('base64')
    verdicts.push(authorization.endsWith(`&Signature=${signature}`))
    response.end('{}')
  })
  const gateway = await startGateway({
    inside: true,
    files: { 'plugins/hmac.ts': signer },
    routes: `pipeline: [hmac]
upstreams:
  main: { url: '${url}/base', hmac_secret: '${secret.toString('base64')}' }
routes:
  - { path: 'GET|POST /items/{id}', upstream: main }
`,
  })
  t.teardown(() => gateway.stop())
  await fetch(`${gateway.url}/items/7?sort=name`, { method: 'POST', body: '{"a":1}' })
  await fetch(`${gateway.url}/items/7`)
  t.same(verdicts, [true, true])
})

t.test('docs/plugins.md: its plugin with a table counts calls and checks its options', async t => {
  const store = await startAnyStore(t, 'sqlite')
  const database = await store.open()
  const jobs: (() => Promise<void>)[] = []
  const tally = (await exampleOf(t, 'tally')) as Plugin<string>
  const problems: unknown[] = []
  tally.check?.(
    {
      routes: [
        { path: 'GET /', tally: 'chat' },
        { path: 'GET /b', tally: 'Two words' },
      ],
    },
    (...problem) => void problems.push(problem),
    fakeHost(),
  )
  t.match(problems, [[['routes', 1, 'tally'], 'TALLY_LABEL', /Two words/]])
  await database.migrate('tally', tally.migrations ?? [])
  const run = (_: string, __: number, work: (signal: AbortSignal) => Promise<void>) => {
    jobs.push(() => work(new AbortController().signal))
    return { wake() {}, stop() {} }
  }
  const host = { ...fakeHost(), database, job: run }
  const stage = await tally.setup('chat', host)
  for (const end of ['complete', 'cut', 'complete'] as const) {
    const exchange = fakeExchange()
    await stage.handle?.(exchange, async () => void exchange.answer(200, { ok: true }))
    exchange.finish({ end, status: 200, bytes: 2 })
    for (const job of jobs) await job()
  }
  const list = tally.admin?.['GET /-/tally']
  t.match(await list?.({} as never, host as never), [{ label: 'chat', calls: 2 }])
})

/** As a plugin outside of the repository imports them. */
const packagedCache = (exampleFiles.find(({ file }) => file === 'plugins/repeats.ts')?.text ?? '')
  .replace('../engine/plugin.ts', 'tollgate/plugin')
  .replace('./slots.ts', 'tollgate/slots')

t.test('docs/plugins.md: a hit of the cache is free, plain and streamed', async t => {
  const gateway = await startGateway({
    files: { 'plugins/repeats.ts': packagedCache },
    routes: `pipeline: [errors, auth, model, repeats, meter, translate, sandbox]
upstreams: { up: { url: 'sandbox:', formats: [openai-chat] } }
models: { gp: { to: up/gp, output: 100, price: { output: 1 / 1k } } }
routes:
  - { path: POST /v1/chat/completions, auth: key, model: body, repeats: { seconds: 600, most: 10 }, translate: openai-chat, errors: openai }
`,
  })
  t.teardown(() => gateway.stop())
  const key = await gateway.key()
  const ask = async (stream: boolean, content: string) => {
    const response = await postTo(
      `${gateway.url}/v1/chat/completions`,
      { model: 'gp', stream, messages: [{ role: 'user', content }] },
      bearer(key),
    )
    const { headers, status } = response
    const [charge, hit, type] = ['x-tollgate-charge', 'x-cache', 'content-type'].map(name =>
      headers.get(name),
    )
    return { status, charge, hit, type, text: await response.text() }
  }
  const first = await ask(false, 'Hello')
  t.match(first, { status: 200, charge: /^0\.\d+$/, hit: null, text: /Hello/ }, first.text)
  const again = await ask(false, 'Hello')
  t.same(again, { ...first, charge: null, hit: 'hit' })
  t.match(await ask(false, 'Hello!'), { hit: null, charge: /^0\.\d+$/ }, 'another body')
  const stream = await ask(true, 'Hello')
  t.match(stream, { hit: null, type: /event-stream/, text: /\[DONE\]/ })
  t.same(await ask(true, 'Hello'), { ...stream, hit: 'hit' })
})

const arrange = async (t: Test) => {
  let now = 1_000_000
  t.intercept(Date, 'now', { value: () => now })
  const cache = await exampleOf(t, 'repeats')
  const stage = await cache.setup({ seconds: 10, most: 2 }, fakeHost())
  let answers = 0
  /** Sends a request of account `id`; resolves to the text of its answer, `answer N` of the Nth
   *  call that reached the upstream. */
  const ask = async (id: number, body: string, end: 'complete' | 'cut' = 'complete') => {
    const exchange = fakeExchange({ body })
    exchange.slots.set(ACCOUNT, { id } as never)
    await stage.handle?.(
      exchange,
      async () => void exchange.answer(200, Buffer.from(`answer ${++answers}`)),
    )
    const { text } = await readReply(exchange.reply as FilteredReply)
    exchange.finish({ end, status: 200, bytes: text.length })
    return text
  }
  const pass = (seconds: number): void => {
    now += seconds * 1_000
  }
  return { ask, pass }
}

t.test(
  'docs/plugins.md: the cache drops answers after their TTL, and the oldest beyond its size',
  async t => {
    const { ask, pass } = await arrange(t)
    t.equal(await ask(1, 'a'), 'answer 1')
    pass(9)
    t.equal(await ask(1, 'a'), 'answer 1')
    pass(1)
    t.equal(await ask(1, 'a'), 'answer 2', 'too old')
    await ask(1, 'b')
    t.equal(await ask(1, 'a'), 'answer 2')
    await ask(1, 'c')
    t.equal(await ask(1, 'a'), 'answer 5', 'the oldest of three went')
  },
)

t.test(
  'docs/plugins.md: the cache gives no account the answers of another, and stores no cut answer',
  async t => {
    const { ask } = await arrange(t)
    t.equal(await ask(1, 'a'), 'answer 1')
    t.equal(await ask(2, 'a'), 'answer 2', 'another account')
    t.equal(await ask(1, 'x', 'cut'), 'answer 3')
    t.equal(await ask(1, 'x'), 'answer 4')
  },
)
