/** Operations that write the configuration, over HTTP and on the command line: the change in the
 *  file, its problems, conflicts, and what is live afterwards. */
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import type { ConfigurationChange, OfferRow, PresetRow } from '../../../plugins/views.ts'
import {
  OPERATOR_ROUTES,
  SESSION_SCHEMA,
  startConsole,
} from '../../helpers/console/console-gateway.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'

const origin = await startHttpUpstream(t, (request, response) => {
  response.setHeader('content-type', 'application/json')
  if (request.url !== '/v1/models') return void response.writeHead(404).end('{}')
  response.end(JSON.stringify({ data: [{ id: 'small' }, { id: 'large' }] }))
})
const empty = await startHttpUpstream(t, (_, response) => void response.writeHead(401).end('{}'))

const MODELS = `# all models
models:
  small: # the cheap one
    to: first/small
    price: { input: 1 / 1M, output: 2 / 1M } # list price
`
const gateway = await startConsole(t, {
  settings: 'public_url: http://127.0.0.1',
  files: {
    'more/models.yaml': MODELS,
    ...SESSION_SCHEMA,
  },
  routes: `
include: [tollgate:presets.yaml, more/*.yaml]
pipeline: [errors, auth, validate, model, limit, meter, console, translate, sandbox, adapt]
upstreams: # who answers
  first: { url: '${origin}', formats: [openai-chat] } # ours
  shut: { url: '${empty}', formats: [openai-chat] }
  own: { url: 'sandbox:', formats: [openai-chat] }
routes:
${OPERATOR_ROUTES}  - { path: GET /api/session, auth: session, console: session, errors: envelope }
  - path: POST /v1/chat/completions # for all
    name: chat
    model: body
    translate: openai-chat
    errors: openai
`,
})
const operator = await gateway.signIn({ token: gateway.token })
const folder = dirname(gateway.data)
const pathOf = (file: string) => join(folder, file)
const read = (file: string) => readFileSync(pathOf(file), 'utf8')
const change = async (name: string, body: object) => {
  const reply = await operator.ask('POST', `/api/admin/config/${name}`, body)
  return { ...reply, data: reply.body.data as unknown as ConfigurationChange }
}
const list = async <T>(path: string) =>
  (await operator.ask('GET', `/api/admin/config/${path}`)).body.data as unknown as readonly T[]

t.test('configuration forms: what a provider and a model can be made from', async t => {
  const presets = await list<PresetRow>('presets')
  t.match(
    presets.filter(({ name }) => ['vertex', 'deepseek', 'ollama'].includes(name)),
    [
      { name: 'vertex', needs: { region: String, project: String } },
      { name: 'deepseek', title: 'DeepSeek', variable: 'DEEPSEEK_API_KEY', needs: {} },
      { name: 'ollama', variable: null },
    ],
  )
  t.same(await list<OfferRow>('offers?upstream=first'), [
    { model: 'large', isConfigured: false },
    { model: 'small', isConfigured: true },
  ])
  const refused = await operator.ask('GET', '/api/admin/config/offers?upstream=shut')
  t.match(refused, { status: 502, body: { message: /"shut" lists no models: 401/ } })
  const inside = await operator.ask('GET', '/api/admin/config/offers?upstream=own')
  t.match(inside, { status: 400, body: { message: /"own" is inside the gateway/ } })
  const unknown = await operator.ask('GET', '/api/admin/config/offers?upstream=frist')
  t.match(unknown, { status: 404, body: { message: /did you mean "first"/ } })
})

t.test('configuration forms: a preview saves nothing; the same change goes live', async t => {
  const before = read('routes.yaml')
  chmodSync(pathOf('routes.yaml'), 0o640)
  const body = { name: 'deepseek', preset: 'deepseek' }
  const preview = await change('provider', { ...body, preview: true })
  t.match(preview.data, {
    state: 'preview',
    file: 'routes.yaml',
    version: null,
    hash: /^[0-9a-f]{64}$/,
  })
  t.same(preview.data.problems, [])
  const line = '  deepseek: { preset: deepseek, key: "${DEEPSEEK_API_KEY:-}" }'
  t.same(
    preview.data.lines.filter(each => /^[+-]/.test(each)),
    [`+${line}`],
  )
  t.equal(read('routes.yaml'), before)
  const live = await change('provider', { ...body, hash: preview.data.hash })
  t.match(live, { status: 200, data: { state: 'live' } }, live.body.message)
  t.same(
    read('routes.yaml')
      .split('\n')
      .filter(each => !before.split('\n').includes(each)),
    [line],
  )
  t.equal(statSync(pathOf('routes.yaml')).mode & 0o777, 0o640)
  const { body: upstreams } = await operator.ask('GET', '/api/admin/upstreams')
  t.ok(upstreams.data.some(({ name }) => name === 'deepseek'))
})

t.test('configuration forms: a model, a price and a limit, each in its own file', async t => {
  const model = await change('model', {
    upstream: 'first',
    model: 'large',
    title: 'The large one',
    prices: { input: '3 / 1M', output: '9.5 / 1M' },
  })
  t.match(model.data, { state: 'live', file: 'more/models.yaml' })
  t.equal(
    read('more/models.yaml'),
    `${MODELS}  large: { to: first/large, title: The large one, price: { input: 3 / 1M, output: 9.5 / 1M } }\n`,
  )
  const price = await change('price', {
    model: 'small',
    prices: { input: '0.5 / 1M', cached: '0.1 / 1M' },
  })
  t.match(price.data, { state: 'live', file: 'more/models.yaml' })
  t.match(
    read('more/models.yaml'),
    'price: { input: 0.5 / 1M, output: 2 / 1M, cached: 0.1 / 1M } # list price',
  )
  const limit = await change('limit', { route: 'chat', requests: '60/min', concurrency: 5 })
  t.match(limit.data, { state: 'live', file: 'routes.yaml' })
  t.match(
    read('routes.yaml'),
    /errors: openai\n {4}limit:\n {6}requests: 60\/min\n {6}concurrency: 5\n/,
  )
  const again = await change('limit', { route: 'chat', requests: '60/min' })
  t.match(again.data, { state: 'unchanged', lines: [] })
  const { body } = await operator.ask('GET', '/api/admin/routes')
  t.match(
    body.data.find(({ name }) => name === 'chat'),
    { options: { limit: { requests: '60/min', concurrency: 5 } } },
  )
})

t.test('configuration forms: a file that was changed meanwhile is a conflict', async t => {
  const body = { name: 'groq', preset: 'groq' }
  const { data } = await change('provider', { ...body, preview: true })
  const text = `${read('routes.yaml')}# by hand\n`
  writeFileSync(pathOf('routes.yaml'), text)
  const { status, body: refusal } = await change('provider', { ...body, hash: data.hash })
  t.equal(status, 409)
  t.match(refusal.message, /"routes\.yaml" was changed meanwhile\. Nothing was saved/)
  t.equal(read('routes.yaml'), text)
})

t.test('configuration forms: refusals name the reason, and nothing is saved', async t => {
  const texts = [read('routes.yaml'), read('more/models.yaml')]
  const prices = { input: '1 / 1M' }
  const refusals = [
    ['provider', { name: 'x', preset: 'depseek' }, 400, /no preset "depseek"; there are/],
    ['provider', { name: 'x', preset: 'vertex', values: { region: 'a' } }, 400, /needs project: /],
    ['provider', { name: 'x', preset: 'groq', values: { a: 'b' } }, 400, /no value "a"/],
    [
      'provider',
      { name: 'first', preset: 'groq' },
      409,
      /"upstreams\.first" is defined already, in the file "routes\.yaml"/,
    ],
    ['provider', { name: 'a b', preset: 'groq' }, 400, /name/],
    [
      'provider',
      { name: 'x', preset: 'groq', url: 'no address' },
      409,
      /Nothing was saved: routes\.yaml:\d+:\d+ /,
    ],
    [
      'provider',
      { name: 'x', preset: 'groq', file: '../evil.yaml' },
      404,
      /does not read the file/,
    ],
    [
      'provider',
      { name: 'x', preset: 'groq', file: 'schemas/session.json' },
      404,
      /does not read the file/,
    ],
    ['model', { upstream: 'first', model: 'new' }, 400, /prices of the model/],
    ['model', { upstream: 'first', model: 'new', prices, free: true }, 400, /prices of the model/],
    [
      'model',
      { upstream: 'first', model: 'small', prices },
      409,
      /"models\.small" is defined already, in the file "more\/models\.yaml"/,
    ],
    [
      'model',
      { upstream: 'none', model: 'new', prices },
      409,
      /Nothing was saved: more\/models\.yaml:\d+:\d+ .*none/,
    ],
    [
      'model',
      { upstream: 'first', model: 'new', prices: { input: 'dear' } },
      409,
      /Nothing was saved: more\/models\.yaml:\d+:\d+ /,
    ],
    ['price', { model: 'none', prices }, 404, /"models\.none"/],
    ['price', { model: 'small', prices: {} }, 400, /price/],
    [
      'price',
      { model: 'small', prices: { inptu: '1' } },
      409,
      /Nothing was saved: more\/models\.yaml/,
    ],
    ['limit', { route: 'none', requests: '1/s' }, 404, /no route "none"/],
    ['limit', { route: 'chat' }, 400, /Give a limit/],
    ['limit', { route: 'chat', requests: 'often' }, 400, /requests/],
    ['limit', { route: 'chat', concurrency: 0 }, 400, /concurrency/],
  ] as const
  for (const [name, body, status, message] of refusals) {
    const reply = await change(name, body)
    t.equal(reply.status, status, `${name} ${JSON.stringify(body)}: ${reply.body.message}`)
    t.match(reply.body.message, message)
  }
  t.same([read('routes.yaml'), read('more/models.yaml')], texts)
})

t.test('configuration forms: off by setting, and by default beyond loopback', async t => {
  const on = read('routes.yaml')
  const off = [
    on.replace('upstreams: #', 'console: { edit: false }\nupstreams: #'),
    on.replace('public_url: http://127.0.0.1', 'public_url: https://gateway.example'),
  ]
  const authorization = `Bearer ${gateway.token}`
  const refuse = async (method: string, path: string, body?: object) => {
    const reply = await gateway.ask(method, `/api/admin/${path}`, body, { authorization })
    t.match(reply, { status: 403, body: { message: /console: \{ edit: true \}/ } })
  }
  for (const text of off) {
    t.not(text, on)
    writeFileSync(pathOf('routes.yaml'), text)
    const reload = '/api/admin/configuration/reload'
    t.equal((await gateway.ask('POST', reload, {}, { authorization })).status, 200)
    for (const preview of [true, false])
      await refuse('POST', 'config/limit', { route: 'chat', requests: '1/s', preview })
    await refuse('GET', 'editor/files')
    await refuse('GET', 'editor/schema')
    const { body: session } = await gateway.ask('POST', '/api/session', { token: gateway.token })
    t.match(session.data, { admin: true, edit: false })
    await refuse('POST', 'editor/check', { file: 'routes.yaml', text: '' })
    await refuse('POST', 'editor/save', { file: 'routes.yaml', text: '', before: '' })
    t.equal(read('routes.yaml'), text)
  }
  writeFileSync(pathOf('routes.yaml'), on)
  await gateway.ask('POST', '/api/admin/configuration/reload', {}, { authorization })
  t.equal((await change('limit', { route: 'chat', requests: '61/min' })).status, 200)
})

t.test('configuration forms: the same on the command line, without a gateway too', async t => {
  const config = pathOf('routes.yaml')
  const run = (...args: string[]) =>
    tollgate(['config', ...args, '--config', config], { TOLLGATE_DATA: gateway.data })
  const before = read('more/models.yaml')
  const dry = await run('model', 'first', 'third', '--price', 'input=1 / 1M', '--dry-run')
  t.match(dry, {
    code: 0,
    out: /^more\/models\.yaml\n.*\+ {2}third: \{.*Nothing was saved/s,
  })
  t.equal(read('more/models.yaml'), before)
  const saved = await run('model', 'first', 'third', '--price', 'input=1 / 1M')
  t.match(saved, { code: 0, out: /Saved\. A running gateway loads it now\./ })
  t.match(read('more/models.yaml'), '  third: { to: first/third, price: { input: 1 / 1M } }')
  t.match(await run('offers', 'first'), { code: 0, out: /large +yes/ })
  const wrong = await run('price', 'third', '--price', 'input:1')
  t.match(wrong, { code: 2, err: /--price 'input=/ })
  const unknown = await run('price', 'fourth', '--price', 'input=1')
  t.match(unknown, { code: 3, err: /"models\.fourth"/ })
})
