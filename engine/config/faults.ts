/** Turns schema errors of ajv into problems with actionable messages and source positions. */
import type { ErrorObject } from 'ajv'
import type { Json } from '../plugin.ts'
import { nearest } from './nearest.ts'
import { defineProblems, type Problem } from './problem.ts'
import type { Reading } from './read.ts'
import type { Path } from './source-positions.ts'

const problem = defineProblems({
  UNKNOWN_KEY: 'unknown key %j in %s',
  MISSING_KEY: '%s needs the key %j',
  WRONG_TYPE: '%s must be %s, not %s',
  UNKNOWN_VALUE: '%s cannot be %s; it is one of %s',
  BAD_VALUE: '%s cannot be %s; %s',
  BAD_NAME: '%j cannot be a name in %s; it must match %s',
  DUPLICATE_ITEM: '%s occurs twice in %s',
})

type Fault = ErrorObject<string, Record<string, unknown>, unknown>
interface Schema {
  readonly type?: string | string[]
  readonly properties?: object
  readonly examples?: readonly Json[]
  readonly format?: string
  readonly pattern?: string
  readonly enum?: readonly string[]
}
/** Code and message arguments of a problem; path and key if they differ from the value at the path
 *  of the error. */
interface ProblemParts {
  readonly code: Parameters<typeof problem>[0]
  readonly args: readonly unknown[]
  readonly path?: Path
  readonly what?: 'key'
  readonly suggestion?: string | undefined
}
/** `written`: source text of the value, so that no variable value is printed. */
type ProblemBuilder = (fault: Fault, label: string, written: string, schema: Schema) => ProblemParts

export const schemaProblems = (errors: readonly ErrorObject[], reading: Reading): Problem[] => {
  const suggested = new Set<string>()
  const found = decided(errors as readonly Fault[]).map(fault => {
    const path = pathOf(fault.instancePath)
    const schema = (fault.parentSchema ?? {}) as Schema
    const written = schema.format === 'password' ? 'that' : writtenAt(path, fault.data, reading)
    const parts = (BUILDERS[fault.keyword] ?? otherwise)(fault, labelOf(path), written, schema)
    const place = reading.find(parts.path ?? path).place(parts.what ?? 'value')
    if (parts.suggestion !== undefined) suggested.add(`${fault.instancePath} ${parts.suggestion}`)
    return { fault, problem: problem(parts.code, place, parts.args, parts.suggestion) }
  })
  // A misspelled key is not reported as missing too.
  return found
    .filter(
      ({ fault: { instancePath, params } }) =>
        !suggested.has(`${instancePath} ${params.missingProperty}`),
    )
    .map(each => each.problem)
}

/** Source text of a value. For settings also the expanded value unless it is secret, since
 *  `${PORT}`  alone does not show what is wrong. */
const writtenAt = (path: Path, data: unknown, { find, secrets }: Reading): string => {
  const { source: written, hasVariable: varies } = find(path)
  const open = path[0] === 'settings' && varies && !written.includes('${file:')
  const plain = typeof data === 'string' && ![...secrets].some(secret => data.includes(secret))
  return open && plain ? `${short(written)}, which is ${short(data)} here` : short(written)
}

export const pathOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))

/** A path for people: `routes[3].timeout`, `things["a.b"].to`. */
export const labelOf = (path: Path): string =>
  path.length === 0 ? 'the file' : path.map(stepOf).join('').replace(/^\./, '')
const stepOf = (step: string | number): string => {
  if (/^\d+$/.test(String(step))) return `[${step}]`
  return /^[\w-]+$/.test(String(step)) ? `.${step}` : `[${JSON.stringify(step)}]`
}
const short = (written: string): string => {
  const [line = ''] = written.split('\n', 1)
  return line.length > 60 ? `${line.slice(0, 60)}…` : line || 'nothing'
}

const BUILDERS: Readonly<Record<string, ProblemBuilder>> = {
  additionalProperties: ({ instancePath, params }, label, _written, { properties = {} }) => {
    const name = String(params.additionalProperty)
    const suggestion = nearest(name, Object.keys(properties))
    const path = [...pathOf(instancePath), name]
    return { code: 'UNKNOWN_KEY', args: [name, label], path, what: 'key', suggestion }
  },
  required: ({ params }, label) => ({
    code: 'MISSING_KEY',
    args: [label, params.missingProperty],
    what: 'key',
  }),
  type: ({ params, data }, label, written, schema) =>
    wrongType([params.type].flat() as string[], data, label, written, schema),
  anyOf: ({ schema, data }, label, written, parent) => {
    const types = (schema as Schema[]).flatMap(({ type, enum: words = [] }) =>
      type === undefined ? words.map(String) : type,
    )
    return wrongType([...new Set(types)], data, label, written, parent)
  },
  enum: ({ params, data }, label, written) =>
    wrongChoice(params.allowedValues as Json[], data, label, written),
  const: ({ params, data }, label, written) =>
    wrongChoice([params.allowedValue as Json], data, label, written),
  propertyNames: ({ instancePath, params, schema }, label) => {
    const name = String(params.propertyName)
    const at = { path: [...pathOf(instancePath), name], what: 'key' } as const
    const { pattern, enum: known } = schema as Schema
    if (known)
      return { code: 'UNKNOWN_KEY', args: [name, label], ...at, suggestion: nearest(name, known) }
    return { code: 'BAD_NAME', args: [name, label, pattern], ...at }
  },
  uniqueItems: ({ instancePath, params, data }, label) => {
    const later = Math.max(Number(params.i), Number(params.j))
    const args = [JSON.stringify((data as Json[])[later]), label]
    return { code: 'DUPLICATE_ITEM', args, path: [...pathOf(instancePath), later] }
  },
}
const otherwise: ProblemBuilder = ({ keyword, message }, label, written, { examples = [] }) => {
  const shape = keyword === 'pattern' || keyword === 'format'
  const such = shape ? examples.map(each => JSON.stringify(each)).join(' or ') : ''
  const way = such === '' ? `it ${message ?? 'breaks the schema'}` : `write it like ${such}`
  return { code: 'BAD_VALUE', args: [label, written, way] }
}

/** Booleans of YAML 1.1, which are mere words since 1.2. */
const TRUTH: Readonly<Record<string, string>> = {
  yes: 'true',
  on: 'true',
  no: 'false',
  off: 'false',
}
const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
  null: 'nothing',
}
const wrongType = (
  types: readonly string[],
  data: unknown,
  label: string,
  written: string,
  { examples = [] }: Schema,
): ProblemParts => {
  const wanted = types.map(type => KINDS[type] ?? type).join(' or ') || 'of another kind'
  const such =
    examples.length > 0 && !types.includes('boolean')
      ? ` such as ${JSON.stringify(examples[0])}`
      : ''
  const kind = data === null ? 'null' : Array.isArray(data) ? 'array' : typeof data
  const plain = kind === 'string' || kind === 'number' || kind === 'boolean'
  const given = plain ? `the ${kind === 'string' ? 'text' : kind} ${written}` : KINDS[kind]
  const truth = TRUTH[String(data).toLowerCase()] ?? ''
  const suggestion = types.some(type => type === 'boolean' || type === truth) ? truth : undefined
  return {
    code: 'WRONG_TYPE',
    args: [label, `${wanted}${such}`, given],
    ...(suggestion && { suggestion }),
  }
}
const wrongChoice = (
  choices: readonly Json[],
  data: unknown,
  label: string,
  written: string,
): ProblemParts => ({
  code: 'UNKNOWN_VALUE',
  args: [label, written, choices.map(String).join(', ')],
  suggestion: nearest(String(data), choices.map(String)),
})

/** Of alternatives only the one that was meant is judged; without one, the choice itself is the
 *  fault. */
const decided = (errors: readonly Fault[]): readonly Fault[] => {
  let left = errors.filter(each => each.keyword !== 'if' && each.propertyName === undefined)
  const choices = left.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
  for (const outer of choices.toSorted((a, b) => a.schemaPath.length - b.schemaPath.length)) {
    const branches = Map.groupBy(
      left.filter(each => each.schemaPath.startsWith(`${outer.schemaPath}/`)),
      each => each.schemaPath.slice(outer.schemaPath.length + 1).split('/', 1)[0],
    )
    const faults = [...branches.values()]
    const alike = faults.filter(branch => branch.every(each => !isOfOtherKind(each, outer)))
    const [shortest] = alike.toSorted((a, b) => a.length - b.length)
    const dropped = new Set([
      ...faults.filter(each => each !== shortest).flat(),
      ...(shortest ? [outer] : []),
    ])
    left = left.filter(each => !dropped.has(each))
  }
  return left
}
const isOfOtherKind = ({ keyword, instancePath, params, data }: Fault, outer: Fault) => {
  if (instancePath !== outer.instancePath) return false
  if (keyword === 'type') return true
  // `true` is no near miss of a map, nor a word of a list.
  const allowed = params.allowedValues as readonly Json[] | undefined
  return keyword === 'enum' && !allowed?.some(each => typeof each === typeof data)
}
