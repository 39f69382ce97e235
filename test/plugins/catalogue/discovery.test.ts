/** Lists of own engines: their bodies, names that go, and configurations that cannot be. */
import { Ajv } from 'ajv'
import t from 'tap'
import type { Document, HostBase } from '../../../engine/plugin.ts'
import { DiscoveredModels, readModels } from '../../../plugins/catalogue/discovery.ts'
import { SECTION } from '../../../plugins/catalogue/section.ts'
import { problemsIn } from '../../../plugins/model/problems.ts'

const names = (models: DiscoveredModels, upstream = 'own') => [
  ...(models.of(upstream)?.keys() ?? []),
]
const list = (...all: readonly string[]) => all.map(name => ({ name, context: undefined }))

t.test('discovery: a name that is gone is kept for the grace', async t => {
  const models = new DiscoveredModels()
  t.equal(models.mayHave('own', 'any'), true, 'before the first list')
  t.same(models.update('own', list('a', 'b'), 100, 0), { added: ['a', 'b'], removed: [] })
  t.equal(models.revision, 1)
  t.same(models.update('own', list('a'), 100, 50), { added: [], removed: [] })
  t.equal(models.mayHave('own', 'b'), true)
  t.same(models.update('own', list('a'), 100, 99).removed, [])
  t.equal(models.revision, 1, 'nothing changed')
  t.same(models.update('own', list('a', 'c'), 100, 100), { added: ['c'], removed: ['b'] })
  t.same(names(models), ['a', 'c'])
  t.equal(models.mayHave('own', 'b'), false)
  models.update('own', [{ name: 'a', context: 8 }, ...list('c')], 100, 100)
  t.equal(models.revision, 3, 'a context is a change')
})

/** Reads the list of an upstream that answers so, by path. */
const read = (answers: Readonly<Record<string, readonly [status: number, body: unknown]>>) => {
  const host = {
    log: {},
    pins: () => [
      { address: 'one', key: 'a' },
      { address: 'one', key: 'b' },
    ],
    send: async (_: string, { path }: { readonly path: string }) => {
      const [status, body] = answers[path] ?? [404, '{}']
      if (status === 0) throw new Error('away')
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      return { status, bytes: async () => Buffer.from(text) }
    },
  }
  return readModels('own', host as unknown as HostBase)
}

t.test('discovery: lists of engines are read, and other bodies are ignored', async t => {
  const models = [
    { id: 'a', max_model_len: 4_096 },
    { id: 'b', meta: { n_ctx_train: 8_192 } },
    { id: 'c', max_model_len: -1 },
    { id: 'd', meta: null },
    { id: 'with space' },
    { id: '' },
    { id: 7 },
    null,
  ]
  t.same(await read({ '/v1/models': [200, { data: models }] }), [
    { name: 'a', context: 4_096 },
    { name: 'b', context: 8_192 },
    { name: 'c', context: undefined },
    { name: 'd', context: undefined },
  ])
  const tags = { models: [{ name: 'llama3:8b' }] }
  t.same(await read({ '/api/tags': [200, tags] }), list('llama3:8b'))
  t.same(await read({ '/v1/models': [200, '<html>'], '/api/tags': [200, tags] }), list('llama3:8b'))
  t.same(await read({ '/v1/models': [200, { data: [] }] }), [])
  for (const answer of [
    [503, { data: models }],
    [0, ''],
  ] as const)
    t.equal(await read({ '/v1/models': answer }), undefined)
  t.equal(await read({}), undefined)
})

t.test('discovery: keys and targets without exactly one star are refused', async t => {
  const problems = (name: string, options: object) => {
    const reported: string[] = []
    const document = {
      upstreams: { own: {} },
      models: { [name]: { discover: {}, ...options } },
    } as unknown as Document
    const report = (where: readonly unknown[], code: string) =>
      void reported.push(`${where.join('.')} ${code}`)
    problemsIn(
      document,
      report as never,
      { memo: (_: string, make: () => string) => make() } as never,
    )
    return reported
  }
  t.same(problems('*', { to: 'own/*' }), [])
  t.same(problems('own-*', { to: ['own/*', { to: 'own/lab/*' }] }), [])
  t.same(problems('own', { to: 'own/a' }), [
    'models.own.discover MODEL_DISCOVER',
    'models.own.to MODEL_DISCOVER',
  ])
  t.same(problems('a-*', { to: 'own' }), ['models.a-*.to MODEL_DISCOVER'])
  t.same(problems('a-*', { to: ['own/*', 'own/a'] }), ['models.a-*.to.1 MODEL_DISCOVER'])
  t.same(problems('a-*-*', { to: 'own/*' }), ['models.a-*-*.discover MODEL_DISCOVER'])
  t.same(problems('a-{id:[a-z]+}', { to: 'own/{id}' }), [
    'models.a-{id:[a-z]+}.discover MODEL_DISCOVER',
    'models.a-{id:[a-z]+}.to MODEL_DISCOVER',
  ])
  t.same(problems('a-*', { to: 'own/*', aliases: ['b-*'] }), ['models.a-*.discover MODEL_DISCOVER'])
  t.match(problems('a-*', { to: 'owm/*' }), ['models.a-*.to UNKNOWN_UPSTREAM'])
  const { properties } = (SECTION.schema as { additionalProperties: { properties: object } })
    .additionalProperties as { readonly properties: { readonly discover: object } }
  const fits = new Ajv({ strict: false }).compile(properties.discover)
  t.ok(fits({ every: '30s', grace: '1h' }))
  for (const wrong of [true, '1m', { every: '100ms' }, { every: 60 }, { from: 'own' }])
    t.notOk(fits(wrong), JSON.stringify(wrong))
})
