/** Judges a reading by the assembled schema, by the engine's own rules and by every plugin's. */
import type { ErrorObject, ValidateFunction } from 'ajv'
import type { Document, Json } from '../plugin.ts'
import { Attachments } from './attachments.ts'
import { faultsOf, pathOf } from './faults.ts'
import type { Path } from './places.ts'
import type { Bundled } from './plugins.ts'
import { type Place, type Problem, problems } from './problem.ts'
import type { Reading, Source } from './read.ts'
import { rules } from './rules.ts'
import type { Plugins } from './schema.ts'
import { refusedSchemas, validator } from './validator.ts'

const problem = problems({
  PLUGIN_SCHEMA: 'ajv refuses the %s',
  PLUGIN_SHARED: 'the pipeline names %j, but the file exports no default, so it is no plugin',
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
): Checked => {
  if (reading.broken) return NOTHING(reading.document)
  const order = reading.document.pipeline
  const shared = [...bundled.shared].filter(
    ([name]) => Array.isArray(order) && order.includes(name),
  )
  const lost = bundled.bundles.map(({ name }) => name).filter(name => !plugins.has(name))
  const found = shared.map(([name, file]) => problem('PLUGIN_SHARED', start(file), [name]))
  const broken = [...bundled.broken, ...lost, ...shared.map(([name]) => name)]
  try {
    return judged(reading, plugins, broken, source, found)
  } catch (thrown) {
    // One plugin's bad schema spoils the whole: it is named, and the rest is judged without it.
    const refused = refusedSchemas(plugins)
    if (refused.size === 0) throw thrown
    for (const { name, file } of bundled.bundles)
      if (refused.has(name)) found.push(problem('PLUGIN_SCHEMA', start(file), [refused.get(name)]))
    const fit = new Map([...plugins].filter(([name]) => !refused.has(name)))
    return judged(reading, fit, [...broken, ...refused.keys()], source, found)
  }
}
const NOTHING = (document: Document): Checked => ({
  document,
  problems: [],
  files: new Map(),
  paths: [],
  secrets: new Set(),
})
const start = (file: string): Place => ({ file, line: 1, column: 1 })

const judged = (
  reading: Reading,
  plugins: Plugins,
  broken: readonly string[],
  source: Source,
  before: readonly Problem[],
): Checked => {
  const attachments = new Attachments(reading.root, source)
  const { validate, named, secrets } = validator(plugins, broken)
  let document = reading.document
  let errors = judge(validate, document)
  const typed = coerce(document, errors, reading)
  if (typed !== document) {
    document = typed
    errors = judge(validate, document)
  }
  attach(document, named, attachments, reading)
  const names = [...plugins.keys(), ...broken]
  const found = [
    ...before,
    ...unclouded(faultsOf(errors, reading), reading.problems),
    ...attachments.problems,
    ...unclouded(rules(document, reading, names), reading.problems),
    ...(errors.length === 0 ? pluginChecks(document, plugins, reading) : []),
  ]
  const { texts: files, paths } = attachments
  return { document, problems: found, files, paths, secrets }
}

/** Names of plugins in the pipeline are the rules' affair: they know how to say it. */
const judge = (validate: ValidateFunction, document: Document): ErrorObject[] =>
  validate(document)
    ? []
    : (validate.errors ?? []).filter(
        ({ instancePath, keyword }) => keyword !== 'enum' || !instancePath.startsWith('/pipeline/'),
      )

/** A variable is text. Where the schema wants a number or a boolean, text that spells one becomes it. */
const coerce = (document: Document, errors: readonly ErrorObject[], reading: Reading): Document => {
  let typed: Json = document as Json
  for (const { instancePath, keyword, params, parentSchema, data } of errors) {
    if (typeof data !== 'string') continue
    const wanted = [keyword === 'type' ? params.type : parentSchema?.type].flat()
    const value = spelled(data, wanted)
    const path = pathOf(instancePath)
    if (value !== undefined && reading.varies(path)) typed = replaced(typed, path, value)
  }
  return typed as Document
}
const spelled = (text: string, wanted: readonly unknown[]): number | boolean | undefined => {
  if (wanted.includes('boolean') && /^(true|false)$/.test(text)) return text === 'true'
  if (wanted.includes('number') && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  if (wanted.includes('integer') && /^-?\d+$/.test(text)) return Number(text)
  return undefined
}
const replaced = (value: Json, [step, ...rest]: Path, by: Json): Json => {
  if (step === undefined) return by
  if (Array.isArray(value))
    return value.map((each, index) => (index === Number(step) ? replaced(each, rest, by) : each))
  const map = value as { readonly [key: string]: Json }
  return { ...map, [step]: replaced(map[step] ?? null, rest, by) }
}

/** Where a named file is named is searched only when it is missing. */
const attach = (
  document: Document,
  named: ReadonlySet<string>,
  attachments: Attachments,
  reading: Reading,
): void => {
  for (const name of named)
    attachments.add(name, () => reading.place(whereIs(document as Json, name) ?? []))
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
  found.filter(each => !before.some(cause => covers(each, cause)))
const covers = (wide: Place, narrow: Place) =>
  wide.file === narrow.file &&
  wide.line === narrow.line &&
  wide.column <= narrow.column &&
  wide.column + (wide.length ?? 1) >= narrow.column

const pluginChecks = (document: Document, plugins: Plugins, reading: Reading): Problem[] => {
  const found: Problem[] = []
  for (const [name, plugin] of plugins) {
    try {
      plugin.check?.(document, (where, code, message, suggestion) => {
        const place = reading.place(where, 'value')
        found.push({ code, message, ...place, ...(suggestion !== undefined && { suggestion }) })
      })
    } catch (thrown) {
      const words = thrown instanceof Error ? thrown.message : String(thrown)
      found.push(problem('PLUGIN_CHECK', reading.place([]), [name, words]))
    }
  }
  return found
}
