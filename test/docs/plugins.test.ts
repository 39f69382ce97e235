/** docs/plugins.md: its plugins compile and work, and its commands run in a fresh clone. */
import { spawnSync } from 'node:child_process'
import { createHash, createHmac } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import t from 'tap'
import type { Plugin } from '../../engine/plugin.ts'
import { fakeExchange, fakeHost } from '../helpers/gateway/fake-exchange.ts'
import { startGateway } from '../helpers/gateway/gateway.ts'
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
    const files = blocksOf(PAGE).filter(({ file }) => file !== '')
    t.ok(files.length >= 4)
    const output = await copy.start()
    for (const { file, text } of files) writeFileSync(join(copy.folder, file), text)
    await output.until(/reload #\d+: .*route/)
    // The test that `plugin new` writes is run by the README's session.
    const out = await copy.shell(sessionOf(PAGE).replace(/^npx tap .*$/m, ''))
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
