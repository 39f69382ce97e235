/** Writes docs/configuration.md from the schemas of the engine and of plugins: `npm run docs`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { withDefinitions } from '../helpers/schema-references.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
export const PAGE = `${root}/docs/configuration.md`

interface Schema {
  readonly description?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly pattern?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
}

const INTRODUCTION = `# routes.yaml

Every key of the configuration, from the schemas of the engine and of the shipped plugins (\`npm run docs\`). \`tollgate schema\` prints the
same as a JSON Schema, with your own plugins; an editor with YAML support shows it while you write.

- A key with a dot is inside another: \`settings.timeouts.header\` is \`settings: { timeouts: { header: 15s } }\`. \`NAME\` stands for a name of
  yours, \`[]\` for an entry of a list.
- Durations are numbers with \`ms\`, \`s\`, \`m\` or \`h\`; sizes with \`B\`, \`KB\`, \`MB\`, \`GB\`, \`KiB\`, \`MiB\` or \`GiB\`.
- \`\${NAME}\` is replaced by a variable, \`\${NAME:-text}\` by \`text\` where it is not set, \`\${file:path}\` by the text of a file.
- \`include:\` adds files with further sections. Sections of several files are merged; a name may be used once.
`

/** The text of the page, from a JSON Schema of routes.yaml. */
export const configurationPage = (schema: Schema): string => {
  const sections = Object.entries(schema.properties ?? {}).map(([name, section]) => {
    const head = `## ${name}\n\n${section.description ?? ''}\n`
    const rows = rowsOf(name, section, true)
    if (name === 'presets') return `${head}\n${PRESETS}`
    if (rows.length === 0) return `${head}${exampleLine(section)}`
    return `${head}\n| key | type | default | meaning | example |\n|---|---|---|---|---|\n${rows.join('\n')}\n`
  })
  return [INTRODUCTION, ...sections].join('\n')
}
const PRESETS = `An entry has the keys of \`upstreams.NAME\`, and \`title\` (its name for people) and \`needs\` (keys that an upstream must add, with what
each is). [providers.md](providers.md) lists the shipped ones.
`
const exampleLine = ({ examples = [] }: Schema): string =>
  examples.length > 0 ? `\nExample: ${code(examples[0])}\n` : ''

/** Deeper keys are shown by the example of the key that holds them. */
const MAX_DEPTH = 5

const rowsOf = (path: string, schema: Schema, isSection = false): readonly string[] => {
  const own = isSection ? [] : [rowOf(path, schema)]
  if (path.split(/\.|(?=\[)/).length >= MAX_DEPTH) return own
  const listedKeys = new Set<string>()
  const inner = formsOf(schema).flatMap(form => {
    const { properties = {}, additionalProperties: others, items } = form
    const named = Object.entries(properties).flatMap(([key, each]) => {
      if (listedKeys.has(key)) return []
      listedKeys.add(key)
      return rowsOf(`${path}.${key}`, each)
    })
    const free = typeof others === 'object' ? rowsOf(`${path}.NAME`, others) : []
    const entries = items && hasKeys(items) ? rowsOf(`${path}[]`, items) : []
    return [...named, ...free, ...entries]
  })
  return [...own, ...inner]
}
const formsOf = (schema: Schema): readonly Schema[] => [
  schema,
  ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap(formsOf),
]
const hasKeys = (schema: Schema): boolean =>
  formsOf(schema).some(
    ({ properties, additionalProperties }) =>
      properties !== undefined || typeof additionalProperties === 'object',
  )

const rowOf = (path: string, schema: Schema): string => {
  const example = schema.examples?.[0]
  const cells = [
    `\`${path}\``,
    typeOf(schema),
    schema.default === undefined ? '' : code(schema.default),
    cell(schema.description ?? ''),
    example === undefined ? '' : code(example),
  ]
  return `| ${cells.join(' | ')} |`
}
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
const WIDTH = 90
const code = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > WIDTH ? '(below)' : `\`${cell(text) || "''"}\``
}

/** Reverses what `editorSchema` adds: that each value may be a variable. A reviver of JSON. */
const withoutVariables = (_: string, value: Schema): Schema => {
  if (typeof value?.pattern === 'string')
    return { ...value, pattern: value.pattern.replace(/^\(\?:(.*)\)\|\\\$\\\{$/s, '$1') }
  const forms = value?.anyOf?.filter(({ pattern }) => pattern !== '\\$\\{')
  if (forms === undefined || forms.length === value.anyOf?.length) return value
  const { anyOf: __, ...notes } = value
  return { ...notes, ...forms[0] }
}
/** The kind of a value in words, with its unit or its words. */
const typeOf = (schema: Schema): string => {
  const kinds = new Set(formsOf(schema).flatMap(form => kindOf(form) ?? []))
  return [...kinds].join(' or ') || 'any'
}
const kindOf = ({ type, enum: words, const: word, pattern, format, minimum, maximum }: Schema) => {
  if (word !== undefined) return code(word)
  if (words !== undefined)
    return words.length > 12 ? 'word' : words.map(each => code(each)).join(', ')
  const types = [type ?? []].flat().map(each => NAMES[each] ?? each)
  if (types.length === 0) return undefined
  const isText = types.includes('text')
  const unit = isText && pattern !== undefined ? unitOf(pattern) : undefined
  if (unit !== undefined) return unit
  if (isText && format === 'file') return 'path'
  const from = minimum === undefined ? '' : ` from ${minimum}`
  const to = maximum === undefined ? '' : ` to ${maximum}`
  return `${types.join(' or ')}${isText && types.length === 1 ? '' : from + to}`
}
const NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  object: 'map',
  array: 'list',
  boolean: 'true or false',
}
const unitOf = (pattern: string): string | undefined => {
  if (pattern.includes('(ms|s|m|h)') || pattern.includes('(ms|s|m|h|d)')) return 'duration'
  if (pattern.includes('KiB|MiB') || pattern.includes('(MiB|GiB)')) return 'size'
  return pattern.includes('/(s|min|h)') ? 'rate, such as 60/min' : undefined
}

export const shippedSchema = (): Schema => {
  const text = readFileSync(`${root}/schemas/routes.json`, 'utf8')
  const schema = withDefinitions(JSON.parse(text))
  return JSON.parse(JSON.stringify(schema), withoutVariables) as Schema
}

if (import.meta.main) writeFileSync(PAGE, configurationPage(shippedSchema()))
