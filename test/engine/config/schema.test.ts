/** The schema of routes.yaml: described, strict, deterministic and fresh. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { DURATION, SIZE } from '../../../engine/config/compile/units.ts'
import { importPlugins } from '../../../engine/config/import.ts'
import { bundlePlugins } from '../../../engine/config/plugins.ts'
import { assemble, schemaText } from '../../../engine/config/schema.ts'
import type { Plugin } from '../../../engine/plugin.ts'

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

t.test("every key of the engine's own has a description, and an example that fits", async t => {
  const all = [...keys(assemble(new Map()) as Schema)]
  t.ok(all.length > 60, `${all.length} keys`)
  const ajv = new Ajv({ strict: false, formats: { password: true, file: true } })
  for (const [path, schema] of all) {
    t.match(schema.description, /^[A-Z`].{8,}\.$/, `${path}: description`)
    const examples = (schema.examples ?? []) as readonly unknown[]
    t.ok(examples.length > 0, `${path}: example`)
    const fits = ajv.compile(schema)
    // Placeholders are filled in before a value is judged.
    for (const each of examples)
      if (!JSON.stringify(each).includes('${')) t.ok(fits(each), `${path}: ${JSON.stringify(each)}`)
  }
})

t.test('no map of the engine takes a key that it does not know', async t => {
  for (const [path, schema] of keys(assemble(new Map()) as Schema))
    if (schema.properties) t.equal(schema.additionalProperties, false, path)
})

t.test('what an acknowledged write survives has two words', async t => {
  const schema = inside(assemble(new Map()), 'properties', 'settings', 'properties', 'durability')
  const fits = new Ajv({ strict: false }).compile(schema as object)
  for (const word of ['power', 'process']) t.ok(fits(word), word)
  for (const word of ['', 'disk', 'Power', 'none', 'off', 'powers', true, 1, null, ['power']])
    t.notOk(fits(word), JSON.stringify(word))
})

t.test('durations and sizes are spelled as their parsers read them', async t => {
  const text = readFileSync(join(ROOT, 'schemas/engine.json'), 'utf8')
  for (const [path, schema] of keys(JSON.parse(text))) {
    const [example] = (schema.examples ?? []) as readonly string[]
    if (/^\d+m?s$/.test(String(example))) t.equal(schema.pattern, DURATION, path)
    if (/^\d+[KM]i?B$/.test(String(example))) t.equal(schema.pattern, SIZE, path)
  }
})

t.test('plugins add options, sections, keys of upstreams and their names', async t => {
  const schema = assemble(
    new Map([
      ['stamp', plugin({ schema: { type: 'string' }, sections: { things: { type: 'object' } } })],
      ['auth', plugin({ upstream: { floor: { type: 'integer' } } })],
    ]),
  )
  const route = ['properties', 'routes', 'items', 'properties']
  t.same(inside(schema, ...route, 'stamp'), { type: 'string' })
  t.ok(inside(schema, ...route, 'path'), 'beside the keys of the engine')
  t.same(inside(schema, 'properties', 'things'), { type: 'object' })
  const upstream = ['properties', 'upstreams', 'additionalProperties', 'properties']
  t.same(inside(schema, ...upstream, 'floor'), { type: 'integer' })
  t.ok(inside(schema, ...upstream, 'url'))
  t.same(inside(schema, 'properties', 'pipeline', 'items', 'enum'), ['auth', 'stamp'])
})

t.test('a schema that points into itself still finds its parts', async t => {
  const own = {
    definitions: { word: { type: 'string' } },
    properties: { text: { $ref: '#/definitions/word' } },
  }
  const schema = assemble(new Map([['stamp', plugin({ schema: own })]]))
  const ajv = new Ajv({ strict: false, formats: { password: true } })
  const fits = ajv.compile(schema)
  t.ok(fits({ routes: [{ path: 'GET /', stamp: { text: 'x' } }] }))
  t.notOk(fits({ routes: [{ path: 'GET /', stamp: { text: 5 } }] }))
})

t.test('the same plugins make the same text, in whatever order they come', async t => {
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

t.test('the checked-in schema is what `tollgate schema --write` would write', async t => {
  const bundled = await bundlePlugins(['plugins'], ROOT, t.testdir())
  const { plugins, problems } = await importPlugins(bundled.bundles, ROOT, bundled.inputs, () => {})
  t.same([...bundled.problems, ...problems], [])
  const kept = readFileSync(join(ROOT, 'schemas/routes.json'), 'utf8')
  t.ok(kept === schemaText(plugins), 'schemas/routes.json is stale: run `tollgate schema --write`')
})

t.test('routes.yaml names it in its first line, for editors', async t => {
  const [first] = readFileSync(join(ROOT, 'routes.yaml'), 'utf8').split('\n')
  t.equal(first, '# yaml-language-server: $schema=./schemas/routes.json')
})

t.test('every key that the shipped plugins add is described, with an example', async t => {
  const schema = JSON.parse(readFileSync(join(ROOT, 'schemas/routes.json'), 'utf8'))
  for (const [path, each] of keys(schema)) {
    t.ok(typeof each.description === 'string', `${path}: description`)
    t.ok(Array.isArray(each.examples), `${path}: example`)
  }
})
