/** Turns schema errors of ajv into problems with actionable messages and source positions. */
import type { ErrorObject } from 'ajv'
import type { Json } from '../plugin.ts'
import { nearest } from './nearest.ts'
import { type Hints, hintFor } from './other-gateways.ts'
import { defineProblems, type Problem } from './problem.ts'
import type { Reading } from './read.ts'
import type { Path } from './yaml/source-positions.ts'

const problem = defineProblems({
  UNKNOWN_KEY: 'unknown key %j in %s%s',
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
  /** Words of other gateways. */
  readonly hints?: Hints
}
/** Code and message arguments of a problem; path and key if they differ from the value at the path
 *  of the error. */
interface ProblemParts {
  readonly code: Parameters<typeof problem>[0]
  readonly args: readonly unknown[]
  readonly path?: Path
  readonly what?: 'key'
  readonly suggestion?: string | undefined
  readonly allowed?: readonly string[]
}
/** `source`: source text of the value, in which variables are not expanded. */
type ProblemBuilder = (fault: Fault, label: string, source: string, schema: Schema) => ProblemParts

export const schemaProblems = (
  errors: readonly ErrorObject[],
  reading: Reading,
  hints: Hints = {},
): Problem[] => {
  const suggestedKeys = new Set<string>()
  const reports = relevantErrors(errors as readonly Fault[]).map(fault => {
    const path = pathOf(fault.instancePath)
    const schema = { ...(fault.parentSchema as Schema | undefined), hints }
    const source =
      schema.format === 'password' ? '(hidden)' : sourceTextAt(path, fault.data, reading)
    const parts = (BUILDERS[fault.keyword] ?? buildOther)(fault, labelOf(path), source, schema)
    const place = reading.find(parts.path ?? path).place(parts.what ?? 'value')
    if (parts.suggestion !== undefined)
      suggestedKeys.add(`${fault.instancePath} ${parts.suggestion}`)
    const { code, args, suggestion, allowed } = parts
    const plain = problem(code, place, args, suggestion)
    return { fault, problem: allowed ? { ...plain, allowed } : plain }
  })
  // A misspelled key is not reported as missing too.
  return reports
    .filter(
      ({ fault: { instancePath, params } }) =>
        !suggestedKeys.has(`${instancePath} ${params.missingProperty}`),
    )
    .map(each => each.problem)
}

/** Source text of a value. For settings also the expanded value unless it is secret, since
 *  `${PORT}` alone does not show what is wrong; elsewhere the variable that has the value. */
const sourceTextAt = (path: Path, data: unknown, { find, secrets }: Reading): string => {
  const { source, hasVariable } = find(path)
  if (!hasVariable || typeof data === 'object') return short(source)
  // A number or boolean was converted from the text of its variable.
  const value = String(data)
  const isPublic = path[0] === 'settings' && !source.includes('${file:')
  const isPlain = ![...secrets].some(secret => value.includes(secret))
  if (isPublic && isPlain) return `${short(source)}, which is ${short(value)} here`
  const [, name] = /\$\{([A-Za-z_]\w*)/.exec(source) ?? []
  return name === undefined || isPublic ? short(source) : `the value of ${name}`
}

export const pathOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))

/** A path as messages show it: `routes[3].timeout`, `things["a.b"].to`. */
export const labelOf = (path: Path): string =>
  path.length === 0 ? 'the file' : path.map(stepOf).join('').replace(/^\./, '')
const stepOf = (step: string | number): string => {
  if (/^\d+$/.test(String(step))) return `[${step}]`
  return /^[\w-]+$/.test(String(step)) ? `.${step}` : `[${JSON.stringify(step)}]`
}
const short = (source: string): string => {
  const [line = ''] = source.split('\n', 1)
  return line.length > 60 ? `${line.slice(0, 60)}…` : line || 'nothing'
}

const BUILDERS: Readonly<Record<string, ProblemBuilder>> = {
  additionalProperties: ({ instancePath, params }, label, _written, schema) => {
    const name = String(params.additionalProperty)
    // A word of another gateway is not a misspelling of our own keys, although it may be near to
    // one.
    const hint = hintFor(name, label, schema.hints ?? {})
    const allowed = Object.keys(schema.properties ?? {})
    const suggestion = hint === '' ? nearest(name, allowed) : undefined
    const path = [...pathOf(instancePath), name]
    return {
      code: 'UNKNOWN_KEY',
      args: [name, label, hint],
      path,
      what: 'key',
      suggestion,
      allowed,
    }
  },
  required: ({ params }, label) => ({
    code: 'MISSING_KEY',
    args: [label, params.missingProperty],
    what: 'key',
  }),
  type: ({ params, data }, label, source, schema) =>
    wrongType([params.type].flat() as string[], data, label, source, schema),
  anyOf: ({ schema, data }, label, source, parent) => {
    const types = (schema as Schema[]).flatMap(({ type, enum: words = [] }) =>
      type === undefined ? words.map(String) : type,
    )
    return wrongType([...new Set(types)], data, label, source, parent)
  },
  enum: ({ params, data }, label, source) => {
    const parts = wrongChoice(params.allowedValues as Json[], data, label, source)
    const [subject, value, choices] = parts.args
    const others = params.others as string[] | undefined
    return others ? { ...parts, args: [subject, value, `${choices}, ${others.join(', ')}`] } : parts
  },
  const: ({ params, data }, label, source) =>
    wrongChoice([params.allowedValue as Json], data, label, source),
  propertyNames: ({ instancePath, params, schema }, label) => {
    const name = String(params.propertyName)
    const at = { path: [...pathOf(instancePath), name], what: 'key' } as const
    const { pattern, enum: names } = schema as Schema
    if (names)
      return {
        code: 'UNKNOWN_KEY',
        args: [name, label, ''],
        ...at,
        suggestion: nearest(name, names),
        allowed: names,
      }
    return { code: 'BAD_NAME', args: [name, label, pattern], ...at }
  },
  maxProperties: ({ params, data }, label) => {
    const count = Object.keys(data as object).length
    return { code: 'BAD_VALUE', args: [label, `${count} keys`, `it takes ${params.limit}`] }
  },
  uniqueItems: ({ instancePath, params, data }, label) => {
    const later = Math.max(Number(params.i), Number(params.j))
    const args = [JSON.stringify((data as Json[])[later]), label]
    return { code: 'DUPLICATE_ITEM', args, path: [...pathOf(instancePath), later] }
  },
}
const buildOther: ProblemBuilder = ({ keyword, message, data }, label, source, schema) => {
  const { examples = [] } = schema
  const isText = keyword === 'pattern' || keyword === 'format'
  const samples = isText ? examples.map(each => JSON.stringify(each)).join(' or ') : ''
  const why = partOf(schema, data)
  const advice =
    samples === '' ? `it ${message ?? 'breaks the schema'}` : `write it like ${samples}`
  return { code: 'BAD_VALUE', args: [label, source, why + advice] }
}

/** Which part of a value is wrong, for `path:` of a route. */
const partOf = ({ pattern = '' }: Schema, data: unknown): string => {
  const [, methods] = /^\^\(\?:([A-Z|]+)\)/.exec(pattern) ?? []
  if (methods === undefined || typeof data !== 'string') return ''
  const known = methods.split('|')
  const [first = '', path = ''] = data.trim().split(/\s+/)
  const wrong = first.split('|').find(each => !known.includes(each))
  if (first.startsWith('/')) return `it begins with a method (${known.join(', ')}); `
  if (wrong !== undefined) {
    const near = nearest(wrong, known)
    return `${wrong} is not a method${near === undefined ? '' : `, did you mean ${near}?`}; `
  }
  return path.startsWith('/') ? 'one space separates method and path; ' : 'its path begins with /; '
}

/** Booleans of YAML 1.1 that are strings in YAML 1.2, and the boolean that is meant. */
const OLD_BOOLEANS: Readonly<Record<string, string>> = {
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
  source: string,
  { examples = [] }: Schema,
): ProblemParts => {
  const expected = types.map(type => KINDS[type] ?? type).join(' or ') || 'of another kind'
  const sample =
    examples.length > 0 && !types.includes('boolean')
      ? ` such as ${JSON.stringify(examples[0])}`
      : ''
  const kind = kindOf(data)
  const isScalar = kind === 'string' || kind === 'number' || kind === 'boolean'
  const received = isScalar ? `the ${kind === 'string' ? 'text' : kind} ${source}` : KINDS[kind]
  const boolean = OLD_BOOLEANS[String(data).toLowerCase()] ?? ''
  const suggestion = types.some(type => type === 'boolean' || type === boolean)
    ? boolean
    : undefined
  return {
    code: 'WRONG_TYPE',
    args: [label, `${expected}${sample}`, received],
    ...(suggestion && { suggestion }),
  }
}
const wrongChoice = (
  choices: readonly Json[],
  data: unknown,
  label: string,
  source: string,
): ProblemParts => ({
  code: 'UNKNOWN_VALUE',
  args: [label, source, choices.map(String).join(', ')],
  suggestion: nearest(String(data), choices.map(String)),
})

/** Removes errors of alternatives (`anyOf`, `oneOf`) that were not meant. If none of them has the
 *  right type, only the error of the choice itself remains. */
const relevantErrors = (errors: readonly Fault[]): readonly Fault[] => {
  let remaining = errors.filter(each => each.keyword !== 'if' && each.propertyName === undefined)
  const choices = remaining.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
  for (const outer of choices.toSorted((a, b) => a.schemaPath.length - b.schemaPath.length)) {
    const branches = Map.groupBy(
      remaining.filter(
        each =>
          each.schemaPath.startsWith(`${outer.schemaPath}/`) &&
          `${each.instancePath}/`.startsWith(`${outer.instancePath}/`),
      ),
      each => each.schemaPath.slice(outer.schemaPath.length + 1).split('/', 1)[0],
    )
    const faults = [...branches.values()]
    const sameType = faults.filter(branch => branch.every(each => !isOfOtherType(each, outer)))
    const branch = intendedBranch(sameType, outer)
    const irrelevant = new Set([...faults.flat(), ...(branch ? [outer] : [])])
    remaining = [...remaining.filter(each => !irrelevant.has(each)), ...(branch ?? [])]
  }
  return remaining
}
/** The faults of the alternative that was meant: one whose words fit, such as `kind: mail`, and of
 *  those the one with the fewest faults. */
const intendedBranch = (
  branches: readonly (readonly Fault[])[],
  outer: Fault,
): readonly Fault[] | undefined => {
  const wordFaults = branches.map(branch => branch.find(each => isWordOf(each, outer)))
  const fitting = branches.filter((_, index) => wordFaults[index] === undefined)
  const [first, ...others] = wordFaults.filter(each => each !== undefined)
  if (first && fitting.length === 0 && others.some(each => wordsOf(each) !== wordsOf(first))) {
    const words = [first, ...others].flatMap(({ params }) => params.allowedValues as Json[])
    return [{ ...first, params: { allowedValues: [...new Set(words)] } }]
  }
  const [best] = (fitting.length > 0 ? fitting : branches).toSorted((a, b) => a.length - b.length)
  const [only, ...more] = best ?? []
  if (only?.keyword !== 'enum' || only.instancePath !== outer.instancePath || more.length > 0)
    return best
  return [{ ...only, params: { ...only.params, others: othersOf(outer) } }]
}
/** Whether a member of the value should be one of certain words. */
const isWordOf = ({ keyword, instancePath }: Fault, outer: Fault): boolean =>
  keyword === 'enum' &&
  instancePath.replace(/\/[^/]*$/, '') === outer.instancePath &&
  instancePath !== outer.instancePath
const wordsOf = ({ params }: Fault): string => JSON.stringify(params.allowedValues)
/** The alternatives that are lists or maps: `or a list such as ["a"]`. */
const othersOf = ({ schema, parentSchema }: Fault): readonly string[] | undefined => {
  const { examples = [] } = (parentSchema ?? {}) as Schema
  const types = (schema as readonly Schema[]).flatMap(({ type = [] }) => type)
  const others = ['array', 'object']
    .filter(each => types.includes(each))
    .map(type => {
      const example = examples.find(each => kindOf(each) === type)
      return `or ${KINDS[type]}${example === undefined ? '' : ` such as ${JSON.stringify(example)}`}`
    })
  return others.length > 0 ? others : undefined
}
const kindOf = (data: unknown): string =>
  data === null ? 'null' : Array.isArray(data) ? 'array' : typeof data
const isOfOtherType = ({ keyword, instancePath, params, data }: Fault, outer: Fault) => {
  if (instancePath !== outer.instancePath) return false
  if (keyword === 'type') return true
  // The value `true` was not meant as a map, nor as one of a list of strings.
  const allowed = params.allowedValues as readonly Json[] | undefined
  return keyword === 'enum' && !allowed?.some(each => typeof each === typeof data)
}
