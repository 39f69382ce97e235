/** Loading a blueprint or a snapshot: types of variables, hashes, secrets, watched paths. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { fromBlueprint, type LoadOptions, load, prepare } from '../../../engine/config/load.ts'
import { format, ProblemsError } from '../../../engine/config/problem.ts'
import { fileSource } from '../../../engine/config/read.ts'
import { errors } from '../../../engine/errors.ts'
import { useShippedPlugins } from '../../helpers/environment.ts'
import { fakeResources } from '../../helpers/gateway/test-server.ts'

const STAMP = `export default {
  schema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      times: { type: 'integer' },
      share: { type: 'number' },
      loud: { type: 'boolean' },
      text: { type: 'string' },
      either: { anyOf: [{ const: 'auto' }, { type: 'integer' }] },
      body: { type: 'string', format: 'file' },
      secret: { type: 'string', format: 'password' },
    },
  },
  setup: (options, host) => ({ answers: true, explain: () => options.body && host.file(options.body) }),
}
`
const route = (options: string) =>
  `pipeline: [stamp]\nroutes:\n  - path: GET /hello\n    stamp: ${options}\n`
const options = (t: Test, env: Record<string, string> = {}, version = 1): LoadOptions => ({
  config: join(t.testdirName, 'routes.yaml'),
  version,
  cacheFolder: join(t.testdirName, 'cache'),
  resources: fakeResources({ lines: [], refuse: () => undefined, delay: 0 }),
  source: fileSource(env),
})
const folder = (t: Test, routes: string, files: object = {}) =>
  t.testdir({ 'routes.yaml': routes, plugins: { 'stamp.ts': STAMP }, ...files })
const stampOf = async (t: Test, env: Record<string, string> = {}) => {
  const { blueprint } = await prepare(options(t, env))
  return (blueprint.document.routes as readonly { stamp: unknown }[])[0]?.stamp
}
const rejection = async (promise: Promise<unknown>): Promise<ProblemsError> => {
  const result = await promise.then(
    () => new Error('the configuration was accepted'),
    (error: unknown) => error,
  )
  if (result instanceof ProblemsError) return result
  throw result
}

t.test('load: variables are converted to the schema type, literal text is not', async t => {
  folder(t, route('{ times: "${N}", share: "${X}", loud: "${B}", text: "${N}", either: "${N}" }'))
  t.same(await stampOf(t, { N: '12', X: '-0.5', B: 'true' }), {
    times: 12,
    share: -0.5,
    loud: true,
    text: '12',
    either: 12,
  })
  folder(t, route('{ either: "${N:-auto}", times: "1${N:-5}", text: "a${N:-5}" }'))
  t.same(await stampOf(t), { either: 'auto', times: 15, text: 'a5' })
  folder(t, route('{ times: "12" }'))
  t.match(await rejection(prepare(options(t))), {
    problems: [{ code: 'WRONG_TYPE', line: 4, column: 21 }],
  })
  folder(t, route('{ times: "${N}" }'))
  t.match(await rejection(prepare(options(t, { N: '1.5' }))), {
    problems: [{ code: 'WRONG_TYPE' }],
  })
})

t.test('load: settings accept variables in the same way', async t => {
  folder(
    t,
    `settings: { workers: "\${W:-auto}", listen: "\${H:-127.0.0.1}:\${P:-0}" }\n${route('{}')}`,
  )
  const settings = async (env: Record<string, string>) =>
    (await prepare(options(t, env))).blueprint.document.settings
  t.same(await settings({}), { workers: 'auto', listen: '127.0.0.1:0' })
  t.same(await settings({ W: '3', H: '[::1]', P: '8080' }), { workers: 3, listen: '[::1]:8080' })
})

t.test('load: equal content has an equal hash, every change another one', async t => {
  folder(t, route('{ body: a.json, text: "${T:-x}" }'), { 'a.json': '{}' })
  const hash = async (env = {}, version = 1) =>
    (await prepare(options(t, env, version))).blueprint.hash
  const first = await hash()
  t.equal(await hash({}, 7), first, 'the version does not count')
  t.not(await hash({ T: 'y' }), first, 'a variable')
  writeFileSync(join(t.testdirName, 'a.json'), '{ }')
  const second = await hash()
  t.not(second, first, 'an attached file')
  writeFileSync(join(t.testdirName, 'plugins/stamp.ts'), STAMP.replace('true,', 'false,'))
  t.not(await hash(), second, 'a plugin')
})

t.test('load: attached files belong to the version', async t => {
  folder(t, route('{ body: schemas/a.json }'), {
    schemas: { 'a.json': '{ "$ref": "parts/b.json#/x" }', parts: { 'b.json': '{}' } },
  })
  const { blueprint, files } = await prepare(options(t))
  t.same(Object.keys(blueprint.files ?? {}), ['schemas/a.json', 'schemas/parts/b.json'])
  t.same(
    [...files.keys()],
    ['routes.yaml', 'schemas/a.json', 'schemas/parts/b.json'],
    'attached files are in the history',
  )
  writeFileSync(join(t.testdirName, 'schemas/a.json'), 'changed')
  const copy = JSON.parse(JSON.stringify(blueprint))
  const snapshot = await fromBlueprint(copy, options(t).resources)
  const [first] = snapshot.find('GET', '/hello')?.value.stages ?? []
  t.equal(first?.stage.explain?.({} as never), '{ "$ref": "parts/b.json#/x" }')
})

const PLUGINS = ['/plugins/*', '/plugins/*.{ts,mts,cts,js,mjs,cjs,json}', '/plugins/stamp.ts']

t.test('load: watches all read files and missing ones', async t => {
  folder(
    t,
    `include: [parts/**/*.yaml]\n${route('{ body: a/a.json, text: "${file:keys/key}" }')}`,
    {
      a: { 'a.json': '{}' },
      keys: { key: 'k' },
      parts: { eu: { 'x.yaml': 'upstreams: {}' } },
    },
  )
  const { watchedPaths: paths } = await prepare(options(t))
  const inside = paths.map(path => path.slice(t.testdirName.length))
  const read = ['/a/a.json', '/keys/key', '/parts/*', '/parts/eu/x.yaml']
  t.same(inside, ['/.env', ...read, ...PLUGINS, '/routes.yaml'])
})

t.test('load: a refused configuration reports what to watch, also missing files', async t => {
  folder(t, `include: [parts/*.yaml]\n${route('{ body: later/a.json }')}`, {
    later: {},
    parts: { 'x.yaml': 'a: [' },
  })
  const inside = (await rejection(prepare(options(t)))).watchedPaths.map(path =>
    path.slice(t.testdirName.length),
  )
  t.same(inside, ['/.env', '/parts/*.yaml', '/parts/x.yaml', ...PLUGINS, '/routes.yaml'])
  folder(t, route('{ body: later/a.json }'), { later: {} })
  const again = (await rejection(prepare(options(t)))).watchedPaths.map(path =>
    path.slice(t.testdirName.length),
  )
  t.same(again, ['/.env', '/later/a.json', ...PLUGINS, '/routes.yaml'])
})

t.test('load: secrets come from files, variables and password formats', async t => {
  folder(t, route('{ text: "${file:key}", secret: "literal-secret" }'), { key: 'from-a-file-1' })
  const { secrets } = await prepare(options(t))
  t.same([...secrets].sort(), ['from-a-file-1', 'literal-secret'])
})

t.test('load: no format of a problem prints a secret', async t => {
  const canary = 'canary-0123456789'
  folder(t, route(`{ secret: ${canary}, txt: 1, times: "\${K}", share: "\${file:key}" }`), {
    key: `${canary}-file`,
  })
  const error = await rejection(prepare(options(t, { K: `${canary}-variable` })))
  t.same(
    error.problems.map(({ code }) => code),
    ['UNKNOWN_KEY', 'WRONG_TYPE', 'WRONG_TYPE'],
  )
  for (const style of ['pretty', 'json', 'github'] as const)
    t.notMatch(format(error.problems, error.texts, style), canary, style)
  t.notMatch(error.message, canary)
  t.match(
    error.message,
    'secret: *****************, txt: 1',
    'the code frame masks it without moving the caret',
  )
})

t.test('load: secrets in messages of plugins are masked', async t => {
  const stamp = `export default { schema: {}, setup({ text }) { throw new Error(JSON.stringify(text) + text) } }`
  folder(t, route("{ text: '${K}', body: '${LONGER}' }"), { plugins: { 'stamp.ts': stamp } })
  for (const canary of ['canary-0123456789', 'a "canary" 0123456789', 'a canary\n0123456789']) {
    const env = { K: canary, LONGER: `${canary} and more` }
    const { message } = await rejection(load(options(t, env)))
    t.match(message, '***********')
    t.notMatch(message, /canary|6789/)
  }
})

t.test('load: a setup that does not finish is a problem', async t => {
  folder(t, 'pipeline: [slow]\nroutes:\n  - path: GET /hello\n    slow: {}\n', {
    plugins: { 'slow.ts': 'export default { schema: {}, setup: () => new Promise(() => {}) }\n' },
  })
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const reportedFiles: string[] = []
  const promise = rejection(load({ ...options(t), progress: file => reportedFiles.push(file) }))
  while (reportedFiles.length < 2) await new Promise(resolve => setImmediate(resolve))
  mock.timers.tick(10_001)
  t.match((await promise).problems, [
    {
      code: 'PLUGIN_SETUP',
      message: /^the setup of the plugin "slow" \(plugins\/slow\.ts\) did not finish in 10000 ms/,
      line: 4,
    },
  ])
})

t.test('load: returns a snapshot', async t => {
  folder(t, route('{}'))
  const { snapshot, blueprint } = await load(options(t, {}, 12))
  t.equal(snapshot.version, 12)
  t.equal(snapshot.hash, blueprint.hash)
})

t.test('load: an archived version uses its own bundles', async t => {
  folder(t, route('{}'))
  const { blueprint } = await prepare(options(t))
  writeFileSync(join(t.testdirName, 'plugins/stamp.ts'), 'not even {')
  await rejection(prepare(options(t)))
  const again = await prepare({ ...options(t), bundles: blueprint.plugins })
  t.equal(again.blueprint.hash, blueprint.hash)
})

t.test('load: exact places with ten thousand entries and a thousand routes', async t => {
  const things = Array.from(
    { length: 10_000 },
    (_, i) => `  thing-${i}: { to: main, size: ${i === 7777 ? 'big' : i} }\n`,
  )
  const routes = Array.from(
    { length: 1000 },
    (_, i) => `  - path: GET /r${i}/{id}\n    stamp: { text: hi }\n`,
  )
  folder(
    t,
    `include: [things.yaml]\npipeline: [stamp, shelf]\nroutes:\n${routes.join('')}    retrys: 1\n`,
    {
      'things.yaml': `things:\n${things.join('')}`,
      plugins: {
        'stamp.ts': STAMP,
        'shelf.ts': `const size = { type: 'integer' }
        const entry = { type: 'object', properties: { to: { type: 'string' }, size } }
        export default { schema: {}, sections: { things: { type: 'object', additionalProperties: entry } }, setup: () => ({}) }`,
      },
    },
  )
  const { problems } = await rejection(prepare(options(t)))
  t.match(problems, [
    { file: 'routes.yaml', line: 2004, column: 5, code: 'UNKNOWN_KEY', suggestion: 'retries' },
    { file: 'things.yaml', line: 7779, column: 33, code: 'WRONG_TYPE' },
  ])
})

const MODELS = `models:
  cheap: { to: main/cheap, price: { input: 1 EUR / 1M, output: 2 EUR / 1M } }
`
const shipped = (currency: string, upstream: string): string => `include: [models.yaml]
settings: { currency: ${currency} }
pipeline: [errors, auth, model, meter]
upstreams: { ${upstream}: { url: 'http://127.0.0.1:1', auth: none } }
routes: [{ path: POST /v1/chat/completions, errors: openai, auth: key, model: body }]
`

t.test('load: a reload finds what it breaks in a file that has not changed', async t => {
  useShippedPlugins(t)
  const config = join(t.testdir({ 'models.yaml': MODELS }), 'routes.yaml')
  const EUR = '{ name: USD, rates: { EUR: 2 } }'
  const prepareWith = async (text: string, last?: Awaited<ReturnType<typeof prepare>>) => {
    writeFileSync(config, text)
    return prepare({ ...options(t), before: last?.blueprint })
  }
  const first = await prepareWith(shipped(EUR, 'main'))
  const second = await prepareWith(shipped('{ name: USD, rates: { EUR: 3 } }', 'main'), first)
  t.equal(second.blueprint.document.models, first.blueprint.document.models, 'the same object')
  for (const [text, expected] of [
    [shipped(EUR, 'other'), 'models.yaml:2 UNKNOWN_UPSTREAM'],
    [shipped('{ name: USD }', 'main'), 'models.yaml:2 PRICE_CURRENCY'],
  ] as const) {
    const { problems } = await rejection(prepareWith(text, second))
    t.match(
      problems.map(({ file, line, code }) => `${file}:${line} ${code}`),
      [expected],
    )
  }
})

const NOTES = `export default {
  schema: {},
  default: {},
  sections: {
    notes: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        additionalProperties: false,
        properties: { body: { type: 'string', format: 'file' }, secret: { type: 'string', format: 'password' } },
      },
    },
  },
  setup: () => ({ answers: true }),
}
`
t.test('load: options are frozen, also where a variable was converted', async t => {
  folder(t, route('{ times: "${N}", text: x }'))
  const stamp = await stampOf(t, { N: '12' })
  t.same(stamp, { times: 12, text: 'x' })
  t.ok(Object.isFrozen(stamp))
})

t.test('load: a long section that is validated once keeps its files and secrets', async t => {
  const notes = Array.from(
    { length: 600 },
    (_, at) => `  n${at}: { body: a.json, secret: long-secret-${at} }`,
  )
  const noteFile = (extra = '') => ['notes:', ...notes, extra].join('\n')
  const main = (path: string) =>
    `include: [notes.yaml]\npipeline: [note]\nroutes: [{ path: GET ${path} }]\n`
  const prepareWith = async (path: string, extra?: string) => {
    writeFileSync(join(t.testdirName, 'routes.yaml'), main(path))
    if (extra !== undefined) writeFileSync(join(t.testdirName, 'notes.yaml'), noteFile(extra))
    return prepare(options(t))
  }
  t.testdir({ 'a.json': '{}', plugins: { 'note.ts': NOTES } })
  const [first, second] = [await prepareWith('/a', ''), await prepareWith('/b')]
  t.equal(first.blueprint.document.notes, second.blueprint.document.notes, 'the same object')
  for (const { blueprint, secrets } of [first, second]) {
    t.same(blueprint.files, { 'a.json': '{}' })
    t.ok(secrets.has('long-secret-599'))
  }
  const { problems } = await rejection(prepareWith('/b', '  bad: { bodi: a.json }'))
  t.match(problems, [{ file: 'notes.yaml', line: 602, code: 'UNKNOWN_KEY' }])
})

t.test('load: a store that cannot be used is a problem beside those of the file', async t => {
  folder(t, `settings: { egress_allow: 10.0.0.0/99 }\n${route('{}')}`)
  const moved = errors({ STORE_MOVED: [409, 'The store was moved'] })
  const assertStore = () => Promise.reject(moved('STORE_MOVED'))
  const { problems } = await rejection(load({ ...options(t), assertStore }))
  t.match(problems, [
    { code: 'STORE_MOVED', line: 1 },
    { code: 'EGRESS_ALLOW', line: 1 },
  ])
  t.match(problems[0]?.message, /^The store was moved; check settings\.database/)
  folder(t, route('{}'))
  const alone = await rejection(load({ ...options(t), assertStore }))
  t.match(alone.problems, [{ code: 'STORE_MOVED' }])
  t.equal(alone.problems.length, 1)
})
