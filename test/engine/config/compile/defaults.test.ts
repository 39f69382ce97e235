/** Each option's default is written once: in its shape, not in a reader as well. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { withDefinitions } from '../../../helpers/schema-references.ts'

const ROOT = join(import.meta.dirname, '../../../..')
interface Schema {
  readonly description?: string
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly anyOf?: readonly Schema[]
}
type Default = readonly [name: string, value: unknown]

/** Of a schema and what is in it: those that it has, and those that its descriptions say. */
function* defaultsIn(schema: Schema, name = ''): Generator<Default> {
  if (schema.default !== undefined) yield [name, schema.default]
  const [, before, after] =
    /([\w./:-]+) by default|[Dd]efault:? `?([\w./:-]+)/.exec(schema.description ?? '') ?? []
  const text = before ?? after?.replace(/[.]$/, '')
  if (text !== undefined && /^\d|^(?:true|false|first)$/.test(text))
    yield [name, parsedDefault(text)]
  for (const [key, each] of Object.entries(schema.properties ?? {})) yield* defaultsIn(each, key)
  const { items, additionalProperties: others, anyOf = [] } = schema
  for (const each of [items, others, ...anyOf])
    if (typeof each === 'object') yield* defaultsIn(each, name)
}
const parsedDefault = (text: string): unknown =>
  /^(?:\d+|true|false)$/.test(text) ? JSON.parse(text) : text

/** Reads of an option with its default: `name ?? 5`, `{ name = 5 }`, `{ name: other = 5 }`. */
const readsIn = (source: string, [name, value]: Default): readonly string[] => {
  const literal = typeof value === 'string' ? `'${value}'` : String(value)
  const escaped = RegExp.escape(literal)
  const forms = [
    `\\.${name} \\?\\? ${escaped}(?![\\w.])`,
    `[{,]\\s*(?:\\w+: )?${name} = ${escaped}(?![\\w.])`,
    `[{,]\\s*${name}: \\w+ = ${escaped}(?![\\w.])`,
  ]
  return forms.flatMap(each => source.match(new RegExp(each, 'g')) ?? [])
}

t.test('defaults: no reader has one of those that the schema of routes.yaml has', async t => {
  const text = readFileSync(join(ROOT, 'schemas/routes.json'), 'utf8')
  const defaults = [...defaultsIn(withDefinitions<Schema>(JSON.parse(text)))]
  const simple = new Map(
    defaults
      .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
      .map(each => [JSON.stringify(each), each]),
  )
  t.ok(simple.size > 60, `${simple.size} defaults`)
  // An option of targets. Plugins make targets as well, and their schemas have no default for it.
  simple.delete(JSON.stringify(['weight', 1]))
  const paths = globSync(['engine/**/*.ts', 'plugins/**/*.ts'], { cwd: ROOT })
  for (const path of paths.filter(each => !each.startsWith('plugins/console/client/'))) {
    const source = readFileSync(join(ROOT, path), 'utf8')
    const reads = [...simple.values()].flatMap(each => readsIn(source, each))
    if (reads.length > 0) t.fail(`${path}: ${reads.join('; ')}`)
  }
})

t.test('defaults: a reader with a default beside the schema is found', async t => {
  const keep: Default = ['keep', '30d']
  for (const source of [
    "options.keep ?? '30d'",
    "const { keep = '30d' } = x",
    "{ a, keep: b = '30d' }",
  ])
    t.equal(readsIn(source, keep).length, 1, source)
  for (const source of [
    "options.keep ?? '30days'",
    "const { keeper = '30d' } = x",
    "x.keep ?? '7d'",
  ])
    t.equal(readsIn(source, keep).length, 0, source)
  t.equal(readsIn('const { retries = 10 }', ['retries', 1]).length, 0)
  t.same(
    [...defaultsIn({ properties: { a: { description: 'A time; 7d by default.' } } })],
    [['a', '7d']],
  )
  t.same([...defaultsIn({ description: 'A count. Default: 5.' }, 'a')], [['a', 5]])
})
