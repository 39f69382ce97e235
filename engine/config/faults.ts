/** What ajv found, in words an operator can act on, with the path of the key or value at fault. */
import type { ErrorObject } from 'ajv'
import type { Json } from '../plugin.ts'
import { nearest } from './nearest.ts'
import type { Path } from './places.ts'
import { type Problem, problems } from './problem.ts'
import type { Reading } from './read.ts'

const problem = problems({
  UNKNOWN_KEY: 'unknown key %j in %s',
  MISSING_KEY: '%s needs the key %j',
  WRONG_TYPE: '%s must be %s, not %s',
  UNKNOWN_VALUE: '%s cannot be %s; one of %s',
  BAD_VALUE: '%s cannot be %s; %s',
  BAD_NAME: '%j cannot be a name in %s; it must match %s',
  DUPLICATE_ITEM: '%s stands twice in %s',
})
type Code = Parameters<typeof problem>[0]

type Said = readonly [
  path: Path,
  what: 'key' | 'value',
  code: Code,
  args: readonly unknown[],
  suggestion?: string | undefined,
]
type Error = ErrorObject<string, Record<string, unknown>, unknown>
type Keywords = Readonly<Record<string, unknown>>

export const faultsOf = (errors: readonly ErrorObject[], reading: Reading): Problem[] =>
  decided(errors as readonly Error[]).map(error => {
    const [path, what, code, args, suggestion] = (WORDS[error.keyword] ?? otherwise)(error, reading)
    return problem(code, reading.place(path, what), args, suggestion)
  })

export const pathOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))

/** A JSON pointer as people say it: `routes[3].timeout`. */
export const labelOf = (path: Path): string =>
  path.length === 0
    ? 'the file'
    : path
        .map((step, i) => (/^\d+$/.test(`${step}`) && i > 0 ? `[${step}]` : `.${step}`))
        .join('')
        .slice(1)

const WORDS: Readonly<Record<string, (error: Error, reading: Reading) => Said>> = {
  additionalProperties: ({ instancePath, params, parentSchema }) => {
    const path = pathOf(instancePath)
    const name = String(params.additionalProperty)
    const known = Object.keys((parentSchema?.properties ?? {}) as object)
    return [[...path, name], 'key', 'UNKNOWN_KEY', [name, labelOf(path)], nearest(name, known)]
  },
  required: ({ instancePath, params }) => {
    const path = pathOf(instancePath)
    return [path, 'key', 'MISSING_KEY', [labelOf(path), params.missingProperty]]
  },
  type: (error, reading) => wrongType(error, [params(error).type].flat() as string[], reading),
  enum: (error, reading) => choice(error, params(error).allowedValues as Json[], reading),
  const: (error, reading) => choice(error, [params(error).allowedValue as Json], reading),
  anyOf: (error, reading) => {
    const branches = (error.schema as Keywords[]).flatMap(({ type }) => (type ?? []) as string[])
    return wrongType(error, [...new Set(branches)], reading)
  },
  oneOf: (error, reading) => WORDS.anyOf?.(error, reading) ?? otherwise(error, reading),
  propertyNames: ({ instancePath, params, schema }) => {
    const path = pathOf(instancePath)
    const name = String(params.propertyName)
    const pattern = (schema as Keywords).pattern ?? 'the schema'
    return [[...path, name], 'key', 'BAD_NAME', [name, labelOf(path), pattern]]
  },
  uniqueItems: ({ instancePath, params }, reading) => {
    const path = pathOf(instancePath)
    const later = [...path, Math.max(Number(params.i), Number(params.j))]
    return [later, 'value', 'DUPLICATE_ITEM', [reading.written(later), labelOf(path)]]
  },
}
const params = (error: Error) => error.params as Record<string, unknown>

const otherwise = (error: Error, reading: Reading): Said => {
  const path = pathOf(error.instancePath)
  const { examples } = (error.parentSchema ?? {}) as { examples?: readonly Json[] }
  const way = examples?.length
    ? `write it like ${examples.map(each => JSON.stringify(each)).join(' or ')}`
    : `it ${error.message ?? 'breaks the schema'}`
  return [path, 'value', 'BAD_VALUE', [labelOf(path), shown(error, reading), way]]
}

const wrongType = (error: Error, types: readonly string[], reading: Reading): Said => {
  const path = pathOf(error.instancePath)
  const wanted = types.length === 0 ? 'of another kind' : types.map(kindName).join(' or ')
  const { examples } = (error.parentSchema ?? {}) as { examples?: readonly Json[] }
  const such = examples?.length ? ` such as ${JSON.stringify(examples[0])}` : ''
  const truth = types.includes('boolean') ? TRUTH[String(error.data).toLowerCase()] : undefined
  const args = [labelOf(path), `${wanted}${such}`, kindOf(error.data, shown(error, reading))]
  return [path, 'value', 'WRONG_TYPE', args, truth]
}
/** Booleans of YAML 1.1, which are words since 1.2. */
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
const kindName = (type: string) => KINDS[type] ?? type
const kindOf = (value: unknown, written: string) => {
  if (value === null) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a map'
  return `the ${typeof value === 'string' ? 'text' : typeof value} ${written}`
}

const choice = (error: Error, choices: readonly Json[], reading: Reading): Said => {
  const path = pathOf(error.instancePath)
  const near = nearest(String(error.data), choices.map(String))
  const args = [labelOf(path), shown(error, reading), choices.map(each => String(each)).join(', ')]
  return [path, 'value', 'UNKNOWN_VALUE', args, near]
}

/** As it was written, so that no value of a variable is ever printed; a secret not even so. */
const shown = (error: Error, reading: Reading): string => {
  if (error.parentSchema?.format === 'password') return 'the value given'
  const [line = ''] = reading.written(pathOf(error.instancePath)).split('\n', 1)
  return line.length > 60 ? `${line.slice(0, 60)}…` : line || 'nothing'
}

/** Of alternatives only the one that was meant is judged; without one, the choice itself is the fault. */
const decided = (errors: readonly Error[]): readonly Error[] => {
  const choices = errors
    .filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
    .sort((a, b) => a.schemaPath.length - b.schemaPath.length)
  let left = errors.filter(
    ({ keyword, propertyName }) => keyword !== 'if' && propertyName === undefined,
  )
  for (const outer of choices) {
    if (!left.includes(outer)) continue
    const meant = meantBranch(outer, left)
    left = left.filter(error =>
      error === outer
        ? meant === undefined
        : !inside(error, outer) || branchOf(error, outer) === meant,
    )
  }
  return left
}
const inside = (error: Error, outer: Error) =>
  error !== outer &&
  error.schemaPath.startsWith(`${outer.schemaPath}/`) &&
  error.instancePath.startsWith(outer.instancePath)
const branchOf = (error: Error, outer: Error) =>
  error.schemaPath.slice(outer.schemaPath.length + 1).split('/', 1)[0]

/** The one alternative that is of the right kind; of several, the one with the fewest faults. */
const meantBranch = (outer: Error, errors: readonly Error[]): string | undefined => {
  const faults = new Map<string, number>()
  for (const error of errors.filter(each => inside(each, outer))) {
    const branch = branchOf(error, outer) ?? ''
    const other = error.instancePath === outer.instancePath && error.keyword === 'type'
    faults.set(branch, (faults.get(branch) ?? 0) + (other ? Number.POSITIVE_INFINITY : 1))
  }
  const [best] = [...faults]
    .filter(([, count]) => Number.isFinite(count))
    .sort((a, b) => a[1] - b[1])
  return best?.[0]
}
