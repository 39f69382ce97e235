/** Plugin `model`: the name in a request, refusals, keys with model lists, schemas of a model. */
import t from 'tap'
import type { Document, Json } from '../../../engine/plugin.ts'
import model, { type Options } from '../../../plugins/model/index.ts'
import { ACCOUNT, DEMANDED_ZONES, EXPANDED_REQUEST, MODEL, TAGS } from '../../../plugins/slots.ts'
import {
  errorFrom,
  fakeAttempt,
  fakeExchange,
  fakeHost,
  noNext,
  type RequestOptions,
} from '../../helpers/gateway/fake-exchange.ts'

const models = {
  'gp-4.1': { to: 'gp/gpt-4.1' },
  'two-targets': {
    to: ['gp/one', { to: 'spare/two', weight: 3, traits: { far: true } }],
    traits: { region: 'eu' },
  },
  'no-target-name': { to: 'gp' },
  'deep/name': { to: 'gp/org/model' },
  'gp-4-gizmo-g-{id:[A-Za-z0-9]+}': { to: 'gp/gpt-4-gizmo-g-{id}' },
  'cl-*-thinking': { to: 'cl/claude-*', aliases: ['claude-*-thinking'] },
  second: { to: 'spare/second', aliases: ['second-name', 'third-name'], fallback: 'third' },
  third: { to: 'gp/third', aliases: ['claude-x-thinking'] },
  'cl-*': { to: 'cl/plain-*' },
}
const document = { models, upstreams: { gp: {}, cl: {}, spare: {} } } as unknown as Document

const ask = async (
  request: RequestOptions,
  {
    options = 'body' as Options,
    configuration = document,
    key = undefined as Json | undefined,
  } = {},
) => {
  const stage = model.setup(options, fakeHost({ document: configuration }))
  const exchange = fakeExchange(request)
  if (key !== undefined)
    exchange.slots.set(ACCOUNT, { id: 1, name: 'ann', role: 'customer', key: key as never })
  const fault = await errorFrom(() => stage.handle?.(exchange, noNext))
  return { stage, exchange, fault, targets: exchange.targets }
}
const askFor = (name: Json, more = {}) => ask({ body: { model: name } }, more)

t.test('model: finds the name in the body', async t => {
  const { targets, exchange, stage } = await askFor('gp-4.1')
  t.same(targets, [{ upstream: 'gp', name: 'gpt-4.1' }])
  t.same(exchange.slots.get(MODEL), { asked: 'gp-4.1', entry: 'gp-4.1' })
  t.same(
    exchange.slots.toJson(),
    { model: { asked: 'gp-4.1', entry: 'gp-4.1' } },
    'the slot is saved with a task',
  )
  t.same(stage.explain?.(exchange), { asked: 'gp-4.1', entry: 'gp-4.1', targets: ['gp/gpt-4.1'] })
  t.same(stage.targets, ['cl', 'gp', 'spare'])
})

t.test('model: explain shows the condition that fails, and its value', async t => {
  const rule = {
    name: 'trial',
    when: { prompt: '> 100', account: 'ann', tags: { plan: ['free', 'trial'] }, zone: 'eu' },
    headers: { 'x-tier': 'secret' },
    share: '0%',
    by: 'account',
    to: 'gp/x',
  }
  const configuration = { ...document, models: { a: { to: 'gp/a', rules: [rule] } } }
  const request = {
    body: { model: 'a' },
    headers: { 'x-tier': 'secret' },
  }
  const { stage, exchange } = await ask(request, {
    configuration: configuration as never,
    key: { id: 1, name: 'app' },
  })
  const explained = () => Object(stage.explain?.(exchange)).rules
  const conditions = [
    { on: 'prompt', holds: false },
    { on: 'account', is: 'ann', holds: true },
    { on: 'tag plan', holds: false },
    { on: 'zone', holds: false },
    { on: 'header x-tier', holds: true },
    { on: 'share of each account', holds: false },
  ]
  t.match(explained(), [{ rule: 'trial', holds: false, conditions }])
  exchange.slots.set(TAGS, { plan: 'trial' })
  exchange.slots.set(DEMANDED_ZONES, ['de', 'eu'])
  const later = [
    {},
    {},
    { on: 'tag plan', is: 'trial', holds: true },
    { on: 'zone', is: 'de, eu', holds: true },
  ]
  t.match(explained(), [{ conditions: later }])
  t.notMatch(JSON.stringify(explained()), /secret/, 'no value of a header')
})

t.test('model: an alias has the targets and the rights of its model', async t => {
  for (const name of ['second', 'second-name', 'third-name']) {
    const { targets, exchange } = await askFor(name)
    t.match(targets, [
      { upstream: 'spare', name: 'second' },
      { upstream: 'gp', name: 'third' },
    ])
    t.same(exchange.slots.get(MODEL), { asked: name, entry: 'second' }, 'priced by its model')
  }
  const { targets, exchange } = await askFor('claude-opus-thinking')
  t.same(targets, [{ upstream: 'cl', name: 'claude-opus' }], 'the alias of a pattern')
  t.match(exchange.slots.get(MODEL), { entry: 'cl-*-thinking' })
  t.match((await askFor('claude-x-thinking')).targets, [{ name: 'third' }], 'a name comes first')
  const keyOf = (...models: string[]) => ({ key: { id: 1, name: 'k', models } })
  t.equal((await askFor('second-name', keyOf('second'))).fault, undefined)
  t.equal((await askFor('second-name', keyOf('second-name'))).fault, undefined)
  t.match((await askFor('second-name', keyOf('third'))).fault, { code: 'MODEL_FORBIDDEN' })
  t.match((await askFor('secund-name')).fault, { message: /Did you mean 'second-name'\?$/ })
})

t.test('model: the targets of its fallbacks follow its own', async t => {
  const configuration = {
    upstreams: {},
    models: {
      a: { to: ['gp/a', 'gp/a2'], balance: 'round-robin', retry_on: [500], fallback: ['b', 'x-1'] },
      b: { to: 'spare', fallback: 'c' },
      c: { to: 'cl/c', balance: 'weighted' },
      'x-*': { to: 'xx/x-*', fallback: 'c' },
      cyclic: { to: 'gp/1', fallback: 'other' },
      other: { to: 'gp/2', fallback: 'cyclic' },
    },
  } as unknown as Document
  const targetsFor = async (name: string) => (await askFor(name, { configuration })).targets
  const first = { balance: 'round-robin', retryOn: [500] }
  t.same(await targetsFor('a'), [
    { upstream: 'gp', name: 'a', rules: first },
    { upstream: 'gp', name: 'a2', rules: first },
    { upstream: 'spare', name: 'b', rules: {} },
    { upstream: 'cl', name: 'c', rules: { balance: 'weighted' } },
    { upstream: 'xx', name: 'x-1', rules: {} },
  ])
  const [one, two, three] = await targetsFor('a')
  t.equal(one?.rules, two?.rules, 'one object for the targets of a model')
  t.not(one?.rules, three?.rules)
  t.match(await targetsFor('x-7'), [{ name: 'x-7' }, { upstream: 'cl', name: 'c' }])
  t.same(
    (await targetsFor('cyclic')).map(({ name }) => name),
    ['1', '2'],
  )
  const stage = model.setup('body', fakeHost({ document: configuration }))
  const ends = [1, 2].map(async () => {
    const exchange = fakeExchange({ body: { model: 'a' } })
    await stage.handle?.(exchange, noNext)
    return exchange.targets
  })
  t.equal(await ends[0], await ends[1], 'one list for all requests')
  const { exchange } = await askFor('a', { configuration })
  t.same(exchange.slots.get(MODEL), { asked: 'a', entry: 'a' }, 'which is priced')
})

t.test('model: finds the name in the path and in the query', async t => {
  const inPath = await ask({ params: { id: 'gp-4.1' } }, { options: { path: 'id' } })
  t.same(inPath.targets, [{ upstream: 'gp', name: 'gpt-4.1' }])
  const inQuery = await ask({ search: 'model=gp-4.1&x=1' }, { options: { query: 'model' } })
  t.same(inQuery.targets, [{ upstream: 'gp', name: 'gpt-4.1' }])
  const [target = { upstream: 'none' }] = inQuery.targets
  const attempt = fakeAttempt(inQuery.exchange, target, {}, '/v1/realtime')
  await inQuery.stage.forward?.(attempt, noNext)
  t.equal(
    attempt.request.path,
    '/v1/realtime?model=gpt-4.1&x=1',
    'the query has the target’s name of the model',
  )
})

t.test('model: resolves several targets with weights and traits', async t => {
  const { targets } = await askFor('two-targets')
  t.same(targets, [
    { upstream: 'gp', name: 'one', traits: { region: 'eu' } },
    { upstream: 'spare', name: 'two', weight: 3, traits: { region: 'eu', far: true } },
  ])
  t.same((await askFor('no-target-name')).targets, [{ upstream: 'gp' }])
  t.same((await askFor('deep/name')).targets, [{ upstream: 'gp', name: 'org/model' }])
})

t.test('model: matches patterns, the most specific first', async t => {
  const rows: readonly (readonly [name: string, target: string, entry: string])[] = [
    ['cl-sonnet-4-5', 'plain-sonnet-4-5', 'cl-*'],
    ['cl-sonnet-4-5-thinking', 'claude-sonnet-4-5', 'cl-*-thinking'],
    ['cl-thinking', 'plain-thinking', 'cl-*'],
    ['gp-4-gizmo-g-aB9', 'gpt-4-gizmo-g-aB9', 'gp-4-gizmo-g-{id:[A-Za-z0-9]+}'],
  ]
  for (const [name, target, entry] of rows) {
    const { targets, exchange } = await askFor(name)
    t.equal(targets[0]?.name, target, name)
    t.same(exchange.slots.get(MODEL), { asked: name, entry })
  }
})

t.test('model: refuses unknown names', async t => {
  for (const name of [
    'nope',
    'gp-4.1 ',
    'GP-4.1',
    'cl-',
    'gp-4-gizmo-g-',
    'gp-4-gizmo-g-a_b',
    'gp-4-gizmo-g-a/b',
    'xgp-4-gizmo-g-a',
    'cl-a\nb',
    '__proto__',
    'constructor',
    `cl-${'x'.repeat(10_000)}`,
  ]) {
    const { fault, targets } = await askFor(name)
    t.match(
      fault,
      { code: 'MODEL_UNKNOWN', status: 404, param: 'model' },
      JSON.stringify(name).slice(0, 40),
    )
    t.ok((fault?.message.length ?? 0) < 250)
    t.same(targets, [])
  }
})

t.test('model: refuses a request without a name', async t => {
  for (const body of [
    {},
    { model: null },
    { model: '' },
    { model: 7 },
    { model: {} },
    [],
    null,
    'x',
  ])
    t.match((await ask({ body: body === 'x' ? '"x"' : body })).fault, {
      code: 'MODEL_MISSING',
      status: 400,
      param: 'model',
    })
  t.match((await ask({}, { options: { query: 'model' } })).fault, { code: 'MODEL_MISSING' })
  t.match((await ask({}, { options: { path: 'model' } })).fault, { code: 'MODEL_MISSING' })
  t.match((await ask({ body: Buffer.from('{') })).fault, { code: 'BODY_NOT_JSON' })
})

t.test('model: a key with a model list uses only its models', async t => {
  const key = { id: 1, name: 'k', models: ['gp-4.1', 'cl-*'] }
  t.equal((await askFor('gp-4.1', { key })).fault, undefined)
  t.equal((await askFor('cl-opus', { key })).fault, undefined, 'its pattern is in the list')
  t.match((await askFor('two-targets', { key })).fault, { code: 'MODEL_FORBIDDEN', status: 403 })
  t.match((await askFor('nope', { key })).fault, { code: 'MODEL_UNKNOWN' })
  t.match((await askFor('gp-4.1', { key: { ...key, models: [] } })).fault, {
    code: 'MODEL_FORBIDDEN',
  })
  t.equal((await askFor('gp-4.1', { key: { id: 1, name: 'k' } })).fault, undefined)
})

t.test('model: other routes refuse a model with `only` and name its route', async t => {
  const configuration = {
    models: { pro: { to: 'gp/pro', only: ['responses'] } },
    upstreams: { gp: {} },
    routes: [{ name: 'responses', path: 'POST /v1/responses' }],
  } as unknown as Document
  const on = (route: string) =>
    ask({ route, path: '/v1/chat/completions', body: { model: 'pro' } }, { configuration })
  t.match((await on('chat')).fault, {
    code: 'MODEL_ONLY',
    status: 404,
    param: 'model',
    message: 'This model is only supported in v1/responses and not in v1/chat/completions.',
  })
  t.equal((await on('responses')).fault, undefined)
})

t.test('model: applies its schema for one route or for all others', async t => {
  const limit = { type: 'object', required: ['max_tokens'] }
  const configuration = {
    models: {
      pro: { to: 'gp/pro', accepts: { chat: false, '*': limit } },
      file: { to: 'gp/file', accepts: { chat: 'schemas/messages.json' } },
    },
    upstreams: { gp: {} },
  } as unknown as Document
  const on = (route: string, body: Json) => ask({ route, body }, { configuration })
  t.match((await on('chat', { model: 'pro' })).fault, { code: 'MODEL_NOT_HERE', status: 404 })
  t.match((await on('messages', { model: 'pro' })).fault, {
    code: 'REQUIRED_PARAMETER',
    status: 400,
    param: 'max_tokens',
  })
  t.equal((await on('messages', { model: 'pro', max_tokens: 1 })).fault, undefined)
  t.match((await on('chat', { model: 'file' })).fault, { param: 'max_tokens' })
  t.equal((await on('responses', { model: 'file' })).fault, undefined, 'the route has no schema')
})

t.test('model: ten thousand models on a thousand routes are read once', async t => {
  const many = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, n) => [`m-${n}`, { to: `gp/${n}` }]),
  )
  const host = fakeHost({ document: { models: { ...many, ...models } } as unknown as Document })
  const stages = Array.from({ length: 1_000 }, () => model.setup('body', host))
  t.same(host.createdKeys, ['catalogue'])
  const first = fakeExchange({ body: { model: 'm-9999' } })
  const again = fakeExchange({ body: { model: 'm-9999' } })
  await stages[0]?.handle?.(first, noNext)
  await stages[999]?.handle?.(again, noNext)
  t.equal(first.targets, again.targets, 'the same object, not a copy per request')
  t.same(first.targets, [{ upstream: 'gp', name: '9999' }])
})

const clips = {
  upstreams: { vd: {} },
  models: {
    clip: {
      to: 'vd/clip',
      defaults: {
        '*': {
          duration: 4,
          resolution: { by: 'duration', value: { 8: '720p', default: '360p' } },
        },
        chat: {
          ratio: '16:9',
          duration: 8,
          resolution: { by: 'duration', value: { 8: '720p', default: '360p' } },
        },
      },
      accepts: { '*': { properties: { resolution: { enum: ['360p', '720p'] } } } },
    },
    usual: { to: 'vd/u', defaults: { '*': { size: 'S' }, other: { size: 'M' } } },
    partial: { to: 'vd/p', defaults: { '*': { size: { by: 'kind', value: { a: 'S' } } } } },
    elsewhere: { to: 'vd/e', defaults: { other: { size: 'S' } } },
    composed: {
      to: 'vd/c',
      defaults: {
        '*': {
          size: { of: '{width}x{height}' },
          duration: { of: '{seconds}', default: 5 },
          resolution: { by: 'size', value: { '1920x1080': '1080p', default: '720p' } },
        },
      },
    },
  },
} as unknown as Document
const expandedBody = async (body: Json): Promise<Json | undefined> => {
  const { exchange, fault } = await ask({ body }, { configuration: clips })
  if (fault) throw fault
  const expanded = exchange.slots.get(EXPANDED_REQUEST)
  if (expanded) {
    t.same(await exchange.request.json(), expanded.body, 'later stages read the same body')
    t.equal(expanded.size, JSON.stringify(expanded.body).length)
  }
  return expanded?.body
}

t.test('model: adds the defaults of the route if the body lacks them', async t => {
  const model = 'clip'
  t.same(await expandedBody({ model }), {
    model,
    duration: 8,
    resolution: '720p',
    ratio: '16:9',
  })
  t.match(await expandedBody({ model, duration: 4 }), { duration: 4, resolution: '360p' })
  t.match(await expandedBody({ model, ratio: '1:1' }), { ratio: '1:1', duration: 8 })
  const complete = { model, duration: 1, resolution: '720p', ratio: '1:1' }
  t.equal(await expandedBody(complete), undefined, 'a complete body stays unchanged')
  t.match(await expandedBody({ model: 'usual' }), { size: 'S' })
  t.equal(await expandedBody({ model: 'partial', kind: 'b' }), undefined, 'no value for it')
  t.same(await expandedBody({ model: 'partial', kind: 'a' }), {
    model: 'partial',
    kind: 'a',
    size: 'S',
  })
  t.equal(await expandedBody({ model: 'elsewhere' }), undefined, 'another route')
})

t.test('model: a default is made of other members', async t => {
  const model = 'composed'
  for (const [more, expected] of [
    [{}, { duration: 5, resolution: '720p' }],
    [{ width: 1920 }, { width: 1920, duration: 5, resolution: '720p' }],
    [
      { width: 1920, height: 1080 },
      { size: '1920x1080', duration: 5, resolution: '1080p' },
    ],
    [
      { width: 1920, height: null },
      { duration: 5, resolution: '720p' },
    ],
    [
      { width: '{height}', height: 1 },
      { size: '{height}x1', resolution: '720p' },
    ],
    [{ seconds: 8 }, { duration: 8 }],
    [{ seconds: '8' }, { duration: '8' }],
    [{ seconds: { n: 8 } }, { duration: 5 }],
    [
      { size: 'own', width: 1920, height: 1080 },
      { size: 'own', resolution: '720p' },
    ],
  ] as const) {
    const expanded = (await expandedBody({ model, ...more } as Json)) as Readonly<
      Record<string, Json>
    >
    t.match(expanded, expected, JSON.stringify(more))
    t.equal('size' in expanded, 'size' in expected, JSON.stringify(more))
  }
})

t.test('model: validates the body with its defaults', async t => {
  const { fault } = await ask(
    { body: { model: 'clip', resolution: '4K' } },
    { configuration: clips },
  )
  t.match(fault, { code: 'INVALID_VALUE', param: 'resolution' })
})

t.test('model: adds no defaults to a form, whose bytes are sent unchanged', async t => {
  const headers = { 'content-type': 'multipart/form-data; boundary=x' }
  const { exchange } = await ask({ body: { model: 'clip' }, headers }, { configuration: clips })
  t.equal(exchange.slots.get(EXPANDED_REQUEST), undefined)
})

t.test('model: is the one that the route names', async t => {
  const { targets, exchange } = await ask(
    { body: { text: 'hi', model: 'another' } },
    { options: { name: 'gp-4.1' } },
  )
  t.same(targets, [{ upstream: 'gp', name: 'gpt-4.1' }])
  t.match(exchange.slots.get(MODEL), { asked: 'gp-4.1' })
})
