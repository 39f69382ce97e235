/** Judges a reading by the assembled schema, by the engine's own rules and by every plugin's. */
import type { ErrorObject, ValidateFunction } from 'ajv'
import type { Document, Json } from '../plugin.ts'
import { attachments } from './attachments.ts'
import { faultsOf, pathOf } from './faults.ts'
import type { Bundled } from './plugins.ts'
import { type Place, type Problem, problems } from './problem.ts'
import type { Reading, Source } from './read.ts'
import { rules } from './rules.ts'
import type { Plugins } from './schema.ts'
import type { Path } from './source-positions.ts'
import { validator } from './validator.ts'

const problem = problems({
  PLUGIN_SCHEMA: 'the plugin %j has a bad schema: %s',
  PLUGIN_CHECK: 'the check of plugin %j threw: %s',
})

export interface Checked {
  /** With values of variables turned into the numbers and booleans that the schema wants. */
  readonly document: Document
  readonly problems: readonly Problem[]
  /** Texts of the files that the document names, by their path as it is shown. */
  readonly files: ReadonlyMap<string, string>
  /** Absolute paths of the same, and of those that are missing. */
  readonly paths: readonly string[]
  readonly secrets: ReadonlySet<string>
}

/** `plugins`: those of `bundled` that could be imported. The faults of the others are reported elsewhere. */
export const check = (
  reading: Reading,
  bundled: Bundled,
  plugins: Plugins,
  source: Source,
  cacheFolder: string,
): Checked => {
  if (reading.broken) return { ...reading, problems: [], files: new Map(), paths: [] }
  const lost = bundled.bundles.map(({ name }) => name).filter(name => !plugins.has(name))
  const broken = [...bundled.broken, ...lost]
  const { validate, named, secrets, refused } = validator(plugins, broken, cacheFolder)
  const { document, errors } = judge(validate, reading)
  const attached = attachments(named, reading.root, source, name =>
    reading.find(whereIs(document as Json, name) ?? []).place('value'),
  )
  const names = [...plugins.keys(), ...broken]
  const whole = !reading.problems.some(({ code }) => LEFT_OUT.has(code))
  const found = [
    ...bundled.bundles
      .filter(({ name }) => refused.has(name))
      .map(({ name, file }) => problem('PLUGIN_SCHEMA', start(file), [name, refused.get(name)])),
    ...attached.problems,
    ...unclouded(faultsOf(errors, reading), reading.problems),
    ...(whole ? unclouded(rules(document, reading, names, plugins), reading.problems) : []),
    ...(whole && errors.length === 0 ? pluginChecks(document, plugins, reading) : []),
  ]
  return { document, problems: found, files: attached.texts, paths: attached.paths, secrets }
}
/** A file or a section of one was left out: names that point there are not to blame. */
const LEFT_OUT: ReadonlySet<string> = new Set(['NOT_A_MAP', 'INCLUDE_EMPTY', 'INCLUDE_KIND'])
const start = (file: string): Place => ({ file, line: 1, column: 1 })

/** A variable is text. Where the schema wants a number or a boolean, text that spells one becomes it. */
const judge = (validate: ValidateFunction, reading: Reading) => {
  const errors = () => (validate.errors ?? []).filter(error => !isName(error))
  let { document } = reading
  if (validate(document)) return { document, errors: [] }
  for (const { instancePath, keyword, params, parentSchema, data } of errors()) {
    const path = pathOf(instancePath)
    const wanted = [keyword === 'type' ? params.type : parentSchema?.type].flat()
    const value = typeof data === 'string' ? spelled(data, wanted) : undefined
    if (value !== undefined && reading.find(path).varies)
      document = replaced(document as Json, path, value) as Document
  }
  return { document, errors: validate(document) ? [] : errors() }
}
/** Names in the pipeline are the rules' affair: they know how to say it. */
const isName = ({ instancePath, keyword }: ErrorObject) =>
  keyword === 'enum' && instancePath.startsWith('/pipeline/')

const spelled = (text: string, wanted: readonly unknown[]): number | boolean | undefined => {
  if (wanted.includes('boolean') && /^(true|false)$/.test(text)) return text === 'true'
  if (wanted.includes('number') && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  return wanted.includes('integer') && /^-?\d+$/.test(text) ? Number(text) : undefined
}
const replaced = (value: Json, [step, ...rest]: Path, by: Json): Json => {
  if (step === undefined) return by
  if (Array.isArray(value)) return value.with(Number(step), replaced(value[Number(step)], rest, by))
  const map = value as { readonly [key: string]: Json }
  return { ...map, [step]: replaced(map[step] ?? null, rest, by) }
}

const whereIs = (value: Json, wanted: string): Path | undefined => {
  if (value === wanted) return []
  if (typeof value !== 'object' || value === null) return undefined
  for (const [step, inner] of Object.entries(value)) {
    const rest = whereIs(inner as Json, wanted)
    if (rest) return [step, ...rest]
  }
  return undefined
}

/** What follows from a variable without a value is no problem of its own. */
const unclouded = (found: readonly Problem[], before: readonly Problem[]): readonly Problem[] =>
  found.filter(({ file, line, column, length = 1 }) =>
    before.every(
      cause =>
        cause.file !== file ||
        cause.line !== line ||
        cause.column < column ||
        cause.column > column + length,
    ),
  )

const pluginChecks = (document: Document, plugins: Plugins, reading: Reading): Problem[] => {
  const found: Problem[] = []
  for (const [name, plugin] of plugins) {
    try {
      plugin.check?.(document, (where, code, message, suggestion) => {
        const place = reading.find(where).place('value')
        found.push({ code, message, ...place, ...(suggestion !== undefined && { suggestion }) })
      })
    } catch (thrown) {
      const words = thrown instanceof Error ? thrown.message : String(thrown)
      found.push(problem('PLUGIN_CHECK', reading.find([]).place('value'), [name, words]))
    }
  }
  return found
}
