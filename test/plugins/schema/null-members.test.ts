/** Null counts as absent: the schemas of shipped routes accept it in every optional member, and
 *  refuse it in every required one. */
import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { asList, asObject, type LooseObject } from '../../helpers/formats/loose-json.ts'

/** Schemas of forms, which have no null. */
const FORMS: Readonly<Record<string, string>> = {
  'schemas/audio-transcriptions.json': 'a form',
}
/** Required members that may be null, with the reason. */
const REQUIRED_NULLS: Readonly<Record<string, string>> = {
  'schemas/conversation-update.json metadata': "OpenAI's own: null removes all metadata",
}

/** Whether the schema accepts null. */
const permitsNull = (schema: LooseObject, root: LooseObject): boolean => {
  const { $ref, type, anyOf, allOf, not } = schema
  if (typeof $ref === 'string') {
    const keys = $ref.split('/').slice(1)
    return permitsNull(
      keys.reduce((value, key) => asObject(value[key]), root),
      root,
    )
  }
  const parts = (list: unknown) => asList(list).map(each => permitsNull(asObject(each), root))
  return (
    (type === undefined || [type].flat().includes('null')) &&
    (schema.enum === undefined || [schema.enum].flat().includes(null)) &&
    (schema.const === undefined || schema.const === null) &&
    (anyOf === undefined || parts(anyOf).includes(true)) &&
    !parts(allOf).includes(false) &&
    (not === undefined || Object.keys(asObject(not)).length > 0)
  )
}
interface Place {
  readonly path: string
  /** Members that an enclosing schema of the same object requires. */
  readonly required: readonly unknown[]
}
/** Optional members that refuse null, and required ones that accept it. */
const problemsIn = (root: LooseObject): readonly string[] => {
  const problems: string[] = []
  const walk = (schema: LooseObject, { path, required: outer }: Place): void => {
    if (Object.keys(schema).length === 0) return
    const required = [...(asList(schema.required) as readonly unknown[]), ...outer]
    for (const [name, property] of Object.entries(asObject(schema.properties))) {
      const member = asObject(property)
      const at = path === '' || path.endsWith('#') ? `${path}${name}` : `${path}.${name}`
      const isRequired = asList(schema.required).includes(name as never)
      // A condition may repeat a member that the object requires, or refuse it altogether.
      const isRepeated = !isRequired && outer.includes(name)
      const isRefused = Object.keys(asObject(member.not ?? { some: true })).length === 0
      if (!isRepeated && !isRefused && permitsNull(member, root) === isRequired)
        problems.push(`${at}: ${isRequired ? 'required, and' : 'optional, but not'} null`)
      walk(member, { path: at, required: [] })
    }
    walk(asObject(schema.items), { path: `${path}[]`, required: [] })
    for (const key of ['anyOf', 'oneOf', 'allOf'])
      for (const each of asList(schema[key])) walk(asObject(each), { path, required })
    for (const key of ['then', 'else']) walk(asObject(schema[key]), { path, required })
    for (const [name, each] of Object.entries(asObject(schema.$defs)))
      walk(asObject(each), { path: `#${name}`, required: [] })
  }
  walk(root, { path: '', required: [] })
  return problems
}

/** The schemas of shipped routes, those that documented routes name included. */
const files = globSync('schemas/**/*.json').filter(each => each !== 'schemas/routes.json')
/** Routes with `unknown: drop` or `nulls: drop` leave null members out before their schema. */
const dropping = new Set(
  [readFileSync('routes.yaml', 'utf8'), readFileSync('docs/tasks.md', 'utf8')].flatMap(text =>
    [...text.matchAll(/\{ schema: (schemas\/[\w/-]+\.json), (?:unknown|nulls): drop \}/g)].map(
      ([, file]) => file,
    ),
  ),
)
t.test('schemas: optional members accept null, required ones refuse it', t => {
  for (const file of files.sort()) {
    if (file in FORMS || dropping.has(file)) continue
    const problems = problemsIn(JSON.parse(readFileSync(file, 'utf8')))
    t.same(
      problems.filter(each => !(`${file} ${each.split(':')[0]}` in REQUIRED_NULLS)),
      [],
      file,
    )
  }
  t.end()
})
