/** Problems of `models:` in `tollgate check`: position, code, message and suggestion. */
import t from 'tap'
import type { Document, Json } from '../../../engine/plugin.ts'
import model from '../../../plugins/model/index.ts'

/** A host that keeps no texts. */
const HOST = { memo: (_: string, make: () => string) => make() }
const check = (models: Json): readonly string[] => {
  const problems: string[] = []
  const document = {
    models,
    upstreams: { gp: {}, claude: {} },
    routes: [{ path: 'POST /v1/chat', name: 'chat' }, { path: 'POST /v1/messages' }],
  }
  model.check(
    document as unknown as Document,
    (where, code, message, suggestion) => {
      problems.push(`${where.join('.')} ${code} ${message}${suggestion ? ` -> ${suggestion}` : ''}`)
    },
    HOST,
  )
  return problems
}

t.test('models check: reports nothing for a valid section', async t => {
  t.same(
    check({
      a: { to: 'gp/a' },
      'b-*': { to: ['gp/b-*', { to: 'claude', weight: 1 }] },
      'c-{id:[0-9]+}': { to: 'gp/c-{id}-*'.replace('-*', ''), accepts: { chat: false } },
      e: { to: [{ to: 'gp/e', cost: 0 }], balance: 'cheapest' },
      d: { to: 'gp/d', accepts: { '*': { type: 'object' }, 'POST /v1/messages': true } },
    }),
    [],
  )
  t.same(check(undefined as unknown as Json), [])
})

const TABLE: readonly (readonly [what: string, models: Json, expected: RegExp])[] = [
  [
    'an alias that is a model',
    { a: { to: 'gp/a', aliases: ['b'] }, b: { to: 'gp/b' } },
    /^models\.a\.aliases\.0 MODEL_ALIAS "b" is a name of the model "b"$/,
  ],
  [
    'an alias of two models',
    { a: { to: 'gp/a', aliases: ['c'] }, b: { to: 'gp/b', aliases: ['c'] } },
    /^models\.b\.aliases\.0 MODEL_ALIAS "c" is a name of the model "a"$/,
  ],
  [
    'a target without a cost',
    { a: { to: [{ to: 'gp/a', cost: 1 }, 'claude/a'], balance: 'cheapest' } },
    /^models\.a\.to\.1 MODEL_COST `balance: cheapest` compares `cost`/,
  ],
  [
    'a pattern as the alias of a name',
    { a: { to: 'gp/a', aliases: ['b-*'] } },
    /^models\.a\.aliases\.0 MODEL_ALIAS "a" is not a pattern, so "b-\*" may be none$/,
  ],
  [
    'a name as the alias of a pattern',
    { 'a-*': { to: 'gp/a-*', aliases: ['b'] } },
    /^models\.a-\*\.aliases\.0 MODEL_ALIAS "b" lacks a \* or a placeholder of "a-\*", or has more$/,
  ],
  [
    'an alias with another placeholder',
    { 'a-{id:[0-9]+}': { to: 'gp/{id}', aliases: ['b-{no:[0-9]+}'] } },
    /MODEL_ALIAS "b-\{no/,
  ],
  [
    'an alias that is not a usable pattern',
    { 'a-*': { to: 'gp/a-*', aliases: ['b-{x'] } },
    /^models\.a-\*\.aliases\.0 MODEL_ALIAS /,
  ],
  [
    'an unknown upstream',
    { a: { to: 'gq/a' } },
    /^models\.a\.to UNKNOWN_UPSTREAM no upstream is named "gq" -> gp$/,
  ],
  [
    'an unknown upstream in a list',
    { a: { to: ['gp/a', 'gg/a'] } },
    /^models\.a\.to\.1 UNKNOWN_UPSTREAM .* -> gp$/,
  ],
  [
    'an unknown upstream of a target',
    { a: { to: [{ to: 'cluade/a' }] } },
    /^models\.a\.to\.0\.to UNKNOWN_UPSTREAM .* -> claude$/,
  ],
  [
    'an unknown upstream without a similar name',
    { a: { to: 'somewhere/a' } },
    /UNKNOWN_UPSTREAM no upstream is named "somewhere"; `upstreams:` has gp, claude$/,
  ],
  [
    'a broken pattern',
    { 'a{b': { to: 'gp/x' } },
    /^models\.a\{b MODEL_PATTERN .*without a closing brace/,
  ],
  [
    'an unsupported expression',
    { '{a:(?=x)}': { to: 'gp/x' } },
    /^models\.\{a:\(\?=x\)\} MODEL_PATTERN .*\(\?=/,
  ],
  [
    'a star without a star in the key',
    { a: { to: 'gp/a-*' } },
    /^models\.a\.to MODEL_CARRY "a" has no \* for/,
  ],
  ['more stars than the key has', { 'a-*': { to: 'gp/*-*' } }, /MODEL_CARRY/],
  [
    'an unknown placeholder',
    { 'a-{id:[0-9]+}': { to: 'gp/{ib}' } },
    /^models\.a-\{id:\[0-9\]\+\}\.to MODEL_CARRY .*no placeholder \{ib\} -> id$/,
  ],
  [
    'a shadowed pattern',
    { 'a-*': { to: 'gp/x' }, 'a-{id:.+}': { to: 'gp/y' } },
    /^models\.a-\* MODEL_SHADOWED "a-\{id:\.\+\}" matches every name that matches "a-\*"$/,
  ],
  [
    'the same pattern under another name',
    { 'a-{x:[0-9]}': { to: 'gp/x' }, 'a-{y:[0-9]}': { to: 'gp/y' } },
    /^models\.a-\{y:\[0-9\]\} MODEL_SHADOWED/,
  ],
  [
    'an unknown route',
    { a: { to: 'gp/a', accepts: { chta: false } } },
    /^models\.a\.accepts\.chta UNKNOWN_ROUTE there is no route named "chta" -> chat$/,
  ],
  [
    'defaults for an unknown route',
    { a: { to: 'gp/a', defaults: { '*': { size: 'S' }, chta: { size: 'M' } } } },
    /^models\.a\.defaults\.chta UNKNOWN_ROUTE there is no route named "chta" -> chat$/,
  ],
  [
    'an unknown fallback',
    { talk: { to: 'gp/a' }, b: { to: 'gp/b', fallback: 'tlak' } },
    /^models\.b\.fallback UNKNOWN_MODEL there is no model named "tlak" -> talk$/,
  ],
  [
    'an unknown fallback in a list',
    { talk: { to: 'gp/a' }, b: { to: 'gp/b', fallback: ['talk', 'nowhere'] } },
    /^models\.b\.fallback\.1 UNKNOWN_MODEL there is no model named "nowhere"; `models:` has talk, b$/,
  ],
  [
    'a fallback to the model itself',
    { a: { to: 'gp/a', fallback: 'a' } },
    /^models\.a\.fallback MODEL_FALLBACK_CYCLE the fallback "a" leads back to "a"$/,
  ],
  [
    'an invalid schema',
    { a: { to: 'gp/a', accepts: { chat: { type: 'objekt' } } } },
    /^models\.a\.accepts\.chat MODEL_SCHEMA .*not a usable JSON Schema/,
  ],
]
for (const [what, models, expected] of TABLE)
  t.test(`models check: reports ${what}`, async t => {
    const problems = check(models)
    t.equal(problems.length, 1, problems.join('\n'))
    t.match(problems[0], expected)
  })

t.test('models check: reports a route that names an unknown model', async t => {
  const problems: string[] = []
  const document = {
    models: { speech: { to: 'gp/a' }, 'tts-*': { to: 'gp/b' } },
    upstreams: { gp: {} },
    routes: [
      { path: 'POST /a', model: { name: 'speech' } },
      { path: 'POST /b', model: { name: 'tts-1' } },
      { path: 'POST /c', model: { name: 'spech' } },
    ],
  }
  model.check(
    document as unknown as Document,
    (where, code, message, suggestion) => {
      problems.push(`${where.join('.')} ${code} ${message} -> ${suggestion}`)
    },
    HOST,
  )
  t.same(problems, ['routes.2.model.name UNKNOWN_MODEL there is no model named "spech" -> speech'])
})

t.test('models check: reports fallbacks that lead back, also through patterns', async t => {
  const models = {
    a: { to: 'gp/a', fallback: ['d', 'b-1'] },
    'b-*': { to: 'gp/b-*', fallback: 'c' },
    c: { to: 'gp/c', fallback: 'a' },
    d: { to: 'gp/d' },
    e: { to: 'gp/e', fallback: ['a', 'd'] },
  }
  t.same(check(models), [
    'models.a.fallback.1 MODEL_FALLBACK_CYCLE the fallback "b-1" leads back to "a"',
    'models.b-*.fallback MODEL_FALLBACK_CYCLE the fallback "c" leads back to "b-*"',
    'models.c.fallback MODEL_FALLBACK_CYCLE the fallback "a" leads back to "c"',
  ])
})

t.test('models check: reports every problem', async t => {
  const invalidModel = { to: ['x1/a', 'x2/a'], accepts: { nope: { type: 'objekt' } } }
  t.equal(check({ a: invalidModel, b: invalidModel }).length, 8)
})

t.test('models check: checks ten thousand models', async t => {
  const many = Array.from({ length: 10_000 }, (_, n) => [`m-${n}`, { to: `gp/${n}` }])
  t.same(check(Object.fromEntries(many)), [])
})

t.test('models check: a model that is the same object as before is not checked again', async t => {
  const document = { models: { a: { to: 'x/a' } }, upstreams: { gp: {} }, routes: [] }
  const codesOf = (before?: object, now: object = document) => {
    const codes: string[] = []
    const report = (_: unknown, code: string) => void codes.push(code)
    model.check(now as unknown as Document, report, { ...HOST, before: before as Document })
    return codes
  }
  t.same(codesOf(), ['UNKNOWN_UPSTREAM'])
  t.same(codesOf(document), [], 'the same section')
  const { a } = document.models
  t.same(codesOf(document, { ...document, models: { a, b: { to: 'x/b' } } }), ['UNKNOWN_UPSTREAM'])
  t.same(codesOf({ ...document, upstreams: { x: {} } }), ['UNKNOWN_UPSTREAM'], 'other upstreams')
  t.same(
    codesOf({ ...document, routes: [{ path: 'GET /' }] }),
    ['UNKNOWN_UPSTREAM'],
    'other routes',
  )
  t.same(codesOf({ ...document, models: undefined }), ['UNKNOWN_UPSTREAM'], 'no models before')
})
