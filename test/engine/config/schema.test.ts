/** The schema of routes.yaml: has descriptions, is strict, deterministic and up to date. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { DURATION_PATTERN, SIZE_PATTERN } from '../../../engine/config/compile/units.ts'
import { orderKeywords } from '../../../engine/config/editor/keyword-order.ts'
import { editorSchema } from '../../../engine/config/editor/variables.ts'
import { bundlePlugins } from '../../../engine/config/plugins/bundle.ts'
import { importPlugins } from '../../../engine/config/plugins/import.ts'
import { assembleSchema, schemaText } from '../../../engine/config/schema.ts'
import type { Plugin } from '../../../engine/plugin.ts'
import { withDefinitions } from '../../helpers/schema-references.ts'

const ROOT = join(import.meta.dirname, '../../..')
type Schema = { readonly [keyword: string]: unknown }
const plugin = (more: Partial<Plugin>): Plugin => ({ schema: {}, setup: () => ({}), ...more })
const inside = (schema: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((at, name) => (at as Schema | undefined)?.[name], schema)

/** Every key of every map, with the schema of its value. */
function* keys(schema: Schema, path = ''): Generator<readonly [string, Schema]> {
  for (const [name, each] of Object.entries((schema.properties ?? {}) as Record<string, Schema>)) {
    yield [`${path}${name}`, each]
    yield* keys(each, `${path}${name}.`)
  }
  for (const inner of [
    schema.items,
    schema.additionalProperties,
    ...((schema.anyOf ?? []) as Schema[]),
  ])
    if (typeof inner === 'object' && inner !== null) yield* keys(inner as Schema, `${path}*.`)
}

t.test('engine schema: every key has a description and a valid example', async t => {
  const all = [...keys(assembleSchema(new Map()) as Schema)]
  t.ok(all.length > 60, `${all.length} keys`)
  const ajv = new Ajv({ strict: false, formats: { password: true, file: true } })
  for (const [path, schema] of all) {
    t.match(schema.description, /^[A-Z`].{8,}\.$/, `${path}: description`)
    const examples = (schema.examples ?? []) as readonly unknown[]
    t.ok(examples.length > 0, `${path}: example`)
    const fits = ajv.compile(schema)
    // Variables are expanded before validation.
    for (const each of examples)
      if (!JSON.stringify(each).includes('${')) t.ok(fits(each), `${path}: ${JSON.stringify(each)}`)
  }
})

t.test('engine schema: no map accepts unknown keys', async t => {
  for (const [path, schema] of keys(assembleSchema(new Map()) as Schema))
    if (schema.properties) t.equal(schema.additionalProperties, false, path)
})

t.test('engine schema: durability has two values', async t => {
  const schema = inside(
    assembleSchema(new Map()),
    'properties',
    'settings',
    'properties',
    'durability',
  )
  const fits = new Ajv({ strict: false }).compile(schema as object)
  for (const word of ['power', 'process']) t.ok(fits(word), word)
  for (const word of ['', 'disk', 'Power', 'none', 'off', 'powers', true, 1, null, ['power']])
    t.notOk(fits(word), JSON.stringify(word))
})

t.test('engine schema: patterns of durations and sizes equal those of the parsers', async t => {
  for (const [path, schema] of keys(assembleSchema(new Map()) as Schema)) {
    const [example] = (schema.examples ?? []) as readonly string[]
    if (/^\d+m?s$/.test(String(example))) t.equal(schema.pattern, DURATION_PATTERN, path)
    if (/^\d+[KM]i?B$/.test(String(example))) t.equal(schema.pattern, SIZE_PATTERN, path)
  }
})

t.test('schema: plugins add options, sections, upstream keys and names', async t => {
  const schema = assembleSchema(
    new Map([
      ['stamp', plugin({ schema: { type: 'string' }, sections: { things: { type: 'object' } } })],
      ['auth', plugin({ upstream: { floor: { type: 'integer' } } })],
    ]),
  )
  const route = ['properties', 'routes', 'items', 'properties']
  t.same(inside(schema, ...route, 'stamp'), { type: 'string' })
  t.ok(inside(schema, ...route, 'path'), 'next to the keys of the engine')
  t.same(inside(schema, 'properties', 'things'), { type: 'object' })
  const upstream = ['properties', 'upstreams', 'additionalProperties', 'properties']
  t.same(inside(schema, ...upstream, 'floor'), { type: 'integer' })
  t.ok(inside(schema, ...upstream, 'url'))
  t.same(inside(schema, 'properties', 'pipeline', 'items', 'enum'), ['auth', 'stamp'])
})

t.test('schema: internal references of a plugin schema resolve', async t => {
  const own = {
    definitions: { word: { type: 'string' } },
    properties: { text: { $ref: '#/definitions/word' } },
  }
  const schema = assembleSchema(new Map([['stamp', plugin({ schema: own })]]))
  const ajv = new Ajv({ strict: false, formats: { password: true } })
  const fits = ajv.compile(schema)
  t.ok(fits({ routes: [{ path: 'GET /', stamp: { text: 'x' } }] }))
  t.notOk(fits({ routes: [{ path: 'GET /', stamp: { text: 5 } }] }))
})

t.test('schema: the text does not depend on the order of plugins', async t => {
  const [a, b] = [plugin({ sections: { x: {} } }), plugin({ upstream: { y: {} } })]
  const text = schemaText(
    new Map([
      ['a', a],
      ['b', b],
    ]),
  )
  t.equal(
    text,
    schemaText(
      new Map([
        ['b', b],
        ['a', a],
      ]),
    ),
  )
  t.notOk(text.includes('undefined'))
})

t.test(
  'schema: the text does not depend on the order of keywords, but on that of keys',
  async t => {
    const textOf = (things: object): string =>
      schemaText(new Map([['a', plugin({ sections: { things } })]]))
    const [word, count] = [
      { type: 'string', description: 'A word.', examples: ['a'] },
      { type: 'integer', description: 'A count.', examples: [{ minimum: 1, description: 'x' }] },
    ]
    const one = textOf({ type: 'object', description: 'Things.', properties: { word, count } })
    const { examples, ...others } = word
    const keywords = {
      properties: { word: { examples, ...others }, count },
      description: 'Things.',
    }
    t.equal(one, textOf({ ...keywords, type: 'object' }))
    t.not(one, textOf({ ...keywords, type: 'object', properties: { count, word } }))
    t.match(one.replace(/\s+/g, ''), '"examples":[{"minimum":1,"description":"x"}]')
  },
)

t.test('schema: repeated parts are written once, and nothing of another root is moved', async t => {
  const limits = (name: string): object => ({
    type: 'object',
    description: `Limits that apply to each request, such as its size and its time: ${name}.`,
    properties: { size: { type: 'string', description: 'The largest size of a request.' } },
    additionalProperties: false,
  })
  const definitions = { word: limits('word') }
  const own = { definitions, properties: { a: limits('a'), b: { $ref: '#/definitions/word' } } }
  const plugins = new Map([
    [
      'one',
      plugin({ schema: { anyOf: [limits('a'), limits('b')] }, settings: { c: limits('c') } }),
    ],
    ['two', plugin({ schema: own, sections: { a: { items: limits('a') }, c: limits('c') } })],
    ['three', plugin({ schema: own })],
  ])
  const text = schemaText(plugins)
  const schema = JSON.parse(text)
  t.same(withDefinitions(schema), orderKeywords(editorSchema(assembleSchema(plugins))))
  const routes = inside(schema, 'properties', 'routes', 'items', 'properties')
  t.same(inside(routes, 'two', '$id'), 'plugin:two')
  t.same(inside(routes, 'two', 'properties', 'b'), { $ref: '#/definitions/word' })
  t.notOk(JSON.stringify(inside(routes, 'two')).includes('$defs'))
  t.match(inside(schema, 'properties', 'c'), { $ref: /^#\/\$defs\// })
  t.same(
    inside(schema, 'properties', 'settings', 'properties', 'c'),
    inside(schema, 'properties', 'c'),
  )
})

t.test('schema: every definition is referred to at least twice', async t => {
  const text = readFileSync(join(ROOT, 'schemas/routes.json'), 'utf8')
  const names = Object.keys(JSON.parse(text).$defs)
  t.ok(names.length > 50, `${names.length} definitions`)
  for (const name of names) t.ok(text.split(`"#/$defs/${name}"`).length > 2, name)
  for (const [, name] of text.matchAll(/"#\/\$defs\/([^"]+)"/g)) t.ok(names.includes(name ?? ''))
})

t.test('schema: schemas/routes.json is up to date', async t => {
  const bundleResult = await bundlePlugins(['plugins'], ROOT, t.testdir())
  const { plugins, problems } = await importPlugins(
    bundleResult.bundles,
    ROOT,
    bundleResult.inputs,
    () => {},
  )
  t.same([...bundleResult.problems, ...problems], [])
  const storedText = readFileSync(join(ROOT, 'schemas/routes.json'), 'utf8')
  t.ok(
    storedText === schemaText(plugins),
    'schemas/routes.json is stale: run `tollgate schema --write`',
  )
})

t.test('schema: the first line of routes.yaml refers to it', async t => {
  const [first] = readFileSync(join(ROOT, 'routes.yaml'), 'utf8').split('\n')
  t.equal(first, '# yaml-language-server: $schema=./schemas/routes.json')
})

t.test('schema: every key of the shipped plugins has a description and an example', async t => {
  const text = readFileSync(join(ROOT, 'schemas/routes.json'), 'utf8')
  const schema = withDefinitions<Schema>(JSON.parse(text))
  for (const [path, each] of keys(schema)) {
    t.ok(typeof each.description === 'string', `${path}: description`)
    t.ok(Array.isArray(each.examples), `${path}: example`)
  }
})

t.test('engine schema: lists of formats have those that plugins bring', async t => {
  const list = { $comment: 'formats', enum: ['openai-chat'], description: 'A format.' }
  const plugins = new Map([
    ['translate', plugin({ schema: list, routes: true } as unknown as Partial<Plugin>)],
    ['own', plugin({ formats: { mine: {} } } as unknown as Partial<Plugin>)],
  ])
  const text = JSON.stringify(assembleSchema(plugins))
  t.match(text, '"enum":["openai-chat","mine"]')
  t.match(
    JSON.stringify(assembleSchema(new Map([...plugins].slice(0, 1)))),
    '"enum":["openai-chat"]',
  )
})
