/** Checks a configuration against the assembled schema, the rules of the engine and the checks of
 *  every plugin. */
import type { ErrorObject } from 'ajv'
import type { CheckHostOf, Document, HostBase, Json } from '../plugin.ts'
import { readAttachments } from './attachments.ts'
import { createMemo } from './compile/memo.ts'
import { formatsIn } from './compile/snapshot-members.ts'
import { pathOf, schemaProblems } from './faults.ts'
import { hintsOf } from './other-gateways.ts'
import type { BundledPlugins } from './plugins/bundle.ts'
import { defaultFaults } from './plugins/members.ts'
import { defineProblems, type Place, type Problem } from './problem.ts'
import type { Reading, Source } from './read.ts'
import { checkRules } from './rules.ts'
import type { Plugins } from './schema.ts'
import { createSectionValidator } from './validation/sections.ts'
import { createValidator, type Validator } from './validation/validator.ts'
import type { Path } from './yaml/source-positions.ts'

const problem = defineProblems({
  PLUGIN_SCHEMA: 'the plugin %j has an invalid schema: %s',
  PLUGIN_DEFAULT: 'the default of the plugin %j does not fit its own schema: %s',
  PLUGIN_CHECK: 'the check of plugin %j threw: %s',
})

export interface CheckResult {
  /** With variable values converted to the numbers and booleans that the schema requires. */
  readonly document: Document
  readonly problems: readonly Problem[]
  /** Texts of the attached files, by displayed path. */
  readonly files: ReadonlyMap<string, string>
  /** Absolute paths of the attached files, also of missing ones. */
  readonly paths: readonly string[]
  readonly secrets: ReadonlySet<string>
}

export interface CheckContext {
  readonly cacheFolder: string
  /** The document that these plugins checked last, if it had no problems. */
  readonly before: Document | undefined
}
/** Returns a cache of one value: `make` runs only for another key than that of the last call. */
const keepLast = <T>(): ((key: string, make: () => T) => T) => {
  let last: { readonly key: string; readonly value: T } | undefined
  return (key, make) => {
    if (last?.key !== key) last = { key, value: make() }
    return last.value
  }
}
/** `plugins`: those of `bundled` that could be imported; the importer reports the others. */
export const check = (
  reading: Reading,
  bundleResult: BundledPlugins,
  plugins: Plugins,
  source: Source,
  { cacheFolder, before }: CheckContext,
): CheckResult => {
  if (reading.isBroken) return { ...reading, problems: [], files: new Map(), paths: [] }
  const failedNames = bundleResult.bundles
    .map(({ name }) => name)
    .filter(name => !plugins.has(name))
  const brokenNames = [...bundleResult.brokenNames, ...failedNames]
  const hashes = bundleResult.bundles.map(({ hash }) => hash)
  const version = JSON.stringify([cacheFolder, brokenNames, ...hashes])
  const { validator, defaults } = schemasOf(version, () => {
    const validator = createValidator(plugins, brokenNames, cacheFolder)
    const valid = [...plugins].filter(([name]) => !validator.schemaErrors.has(name))
    return { validator, defaults: defaultFaults(new Map(valid), cacheFolder) }
  })
  const { schemaErrors } = validator
  const validation = validateDocument(validator, version, reading)
  const { document, errors, fileNames, secrets } = validation
  const attachments = readAttachments(fileNames, reading.root, source, name =>
    reading.find(pathOfValue(document as Json, name) ?? []).place('value'),
  )
  const names = [...plugins.keys(), ...brokenNames]
  const isComplete =
    !reading.isPartial && !reading.problems.some(({ code }) => PARTIAL_CODES.has(code))
  const problems = [
    ...bundleResult.bundles
      .filter(({ name }) => schemaErrors.has(name))
      .map(({ name, file }) =>
        problem('PLUGIN_SCHEMA', fileStart(file), [name, schemaErrors.get(name)]),
      ),
    ...bundleResult.bundles
      .filter(({ name }) => defaults.has(name))
      .map(({ name, file }) =>
        problem('PLUGIN_DEFAULT', fileStart(file), [name, defaults.get(name)]),
      ),
    ...attachments.problems,
    ...withoutConsequences(schemaProblems(errors, reading, hintsOf(plugins)), reading.problems),
    ...(isComplete
      ? withoutConsequences(checkRules(document, reading, names, plugins), reading.problems)
      : []),
    ...(isComplete && errors.every(isUnknownKey)
      ? pluginChecks(document, plugins, reading, {
          memo: createMemo(cacheFolder),
          formats: formatsIn(plugins),
          before,
        })
      : []),
  ]
  return {
    document,
    problems,
    files: attachments.texts,
    paths: attachments.paths,
    secrets,
  }
}
/** Plugins check values of the right type; an unknown key changes no other value. */
const isUnknownKey = ({ keyword }: ErrorObject): boolean => keyword === 'additionalProperties'
/** Codes after which a file or section is missing, so that references to it are not reported. */
const PARTIAL_CODES: ReadonlySet<string> = new Set(['NOT_A_MAP', 'INCLUDE_EMPTY', 'INCLUDE_KIND'])
const fileStart = (file: string): Place => ({ file, line: 1, column: 1 })

/** Validates the document. Variable values are text: if the schema requires a number or a boolean,
 *  a matching text is converted. */
const validateDocument = (validator: Validator, version: string, reading: Reading) => {
  const validate = (document: Document) => {
    const { errors, ...names } = validateSections(document, version, validator)
    return { document, errors: errors.filter(error => !isName(error)), ...names }
  }
  const result = validate(reading.document)
  let { document } = result
  for (const { instancePath, keyword, params, parentSchema, data } of result.errors) {
    const path = pathOf(instancePath)
    const types = [keyword === 'type' ? params.type : parentSchema?.type].flat()
    const value = typeof data === 'string' ? parseScalar(data, types) : undefined
    if (value !== undefined && reading.find(path).hasVariable)
      document = replaceAt(document as Json, path, value) as Document
  }
  return document === reading.document ? result : validate(document)
}
/** One for the process: the same section is valid in each version. */
const validateSections = createSectionValidator()
/** One for the process: most versions have the plugins of the last. */
const schemasOf = keepLast<{
  readonly validator: Validator
  /** Reasons why the `default` of a plugin is not valid, by its name. */
  readonly defaults: ReadonlyMap<string, string>
}>()
/** Pipeline names are checked by the rules, with better messages. */
const isName = ({ instancePath, keyword }: ErrorObject) =>
  keyword === 'enum' && instancePath.startsWith('/pipeline/')

const parseScalar = (text: string, types: readonly unknown[]): number | boolean | undefined => {
  if (types.includes('boolean') && /^(true|false)$/.test(text)) return text === 'true'
  if (types.includes('number') && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  return types.includes('integer') && /^-?\d+$/.test(text) ? Number(text) : undefined
}
const replaceAt = (value: Json, [step, ...rest]: Path, by: Json): Json => {
  if (step === undefined) return by
  if (Array.isArray(value))
    return value.with(Number(step), replaceAt(value[Number(step)], rest, by))
  const map = value as { readonly [key: string]: Json }
  return { ...map, [step]: replaceAt(map[step] ?? null, rest, by) }
}

const pathOfValue = (value: Json, target: string): Path | undefined => {
  if (value === target) return []
  if (typeof value !== 'object' || value === null) return undefined
  for (const [step, inner] of Object.entries(value)) {
    const rest = pathOfValue(inner as Json, target)
    if (rest) return [step, ...rest]
  }
  return undefined
}

/** Removes problems that follow from another at the same place, such as an unset variable. */
const withoutConsequences = (
  problems: readonly Problem[],
  before: readonly Problem[],
): readonly Problem[] =>
  problems.filter(({ file, line, column, length = 1 }) =>
    before.every(
      cause =>
        cause.file !== file ||
        cause.line !== line ||
        cause.column < column ||
        cause.column > column + length,
    ),
  )

const pluginChecks = (
  document: Document,
  plugins: Plugins,
  reading: Reading,
  host: CheckHostOf<HostBase>,
): Problem[] => {
  const problems: Problem[] = []
  for (const [name, plugin] of plugins) {
    try {
      plugin.check?.(
        document,
        (where, code, message, suggestion) => {
          const place = reading.find(where).place('value')
          problems.push({
            code,
            message,
            ...place,
            ...(suggestion !== undefined && { suggestion }),
          })
        },
        host,
      )
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      problems.push(problem('PLUGIN_CHECK', reading.find([]).place('value'), [name, message]))
    }
  }
  return problems
}
