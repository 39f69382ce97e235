/** Checks the members of plugins and stages: their names, their types, and defaults against the
 *  plugin's own schema. */
import type { ErrorObject } from 'ajv'
import { isFields } from '../../kit.ts'
import type { Plugin, Stage } from '../../plugin.ts'
import { ENDPOINT } from '../admin-endpoints.ts'
import { nearest } from '../nearest.ts'
import { compileSchema } from '../validation/validator-cache.ts'

export interface MemberFault {
  readonly message: string
  /** The name that was probably meant. */
  readonly suggestion?: string | undefined
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null
const isFunction = (value: unknown): boolean => typeof value === 'function'
const isNames = (value: unknown): boolean =>
  Array.isArray(value) && value.every(each => typeof each === 'string')
const isEndpoints = (value: unknown): boolean =>
  isFields(value) &&
  Object.entries(value as object).every(([name, each]) => ENDPOINT.test(name) && isFunction(each))
const isSentences = (value: unknown): boolean =>
  isFields(value) && Object.values(value).every(each => typeof each === 'string')
const isFormats = (value: unknown): boolean =>
  isFields(value) && Object.values(value as object).every(isObject)
const isAny = (): boolean => true
const isText = (value: unknown): boolean => typeof value === 'string'

type Shape = readonly [description: string, fits: (value: unknown) => boolean]
const OBJECT: Shape = ['an object', isObject]
const FUNCTION: Shape = ['a function', isFunction]
const NAMES: Shape = ['an array of names', isNames]
const BOOLEAN: Shape = ['true or false', value => typeof value === 'boolean']

const PLUGIN_MEMBERS: Readonly<Record<keyof Plugin, Shape>> = {
  schema: OBJECT,
  setup: FUNCTION,
  default: ['any value', isAny],
  sections: OBJECT,
  upstream: OBJECT,
  settings: OBJECT,
  auth: OBJECT,
  keys: OBJECT,
  credentialHeaders: NAMES,
  formats: ['an object of formats, by name', isFormats],
  before: NAMES,
  after: NAMES,
  hints: OBJECT,
  check: FUNCTION,
  migrations: OBJECT,
  needs: NAMES,
  commands: OBJECT,
  admin: ['an object of functions, by `METHOD /-/path`', isEndpoints],
  authorizeOperator: FUNCTION,
  metrics: ['an object of sentences, by metric', isSentences],
  serves: ['a text', isText],
  lint: FUNCTION,
  effects: FUNCTION,
  checkLive: FUNCTION,
  doctor: FUNCTION,
  welcome: FUNCTION,
}
const REQUIRED: readonly string[] = ['schema', 'setup']

const STAGE_MEMBERS: Readonly<Record<keyof Stage, Shape>> = {
  answers: BOOLEAN,
  targets: [
    'true, or an array of the upstreams',
    value => value === true || value === false || isNames(value),
  ],
  handle: FUNCTION,
  forward: FUNCTION,
  sign: FUNCTION,
  message: FUNCTION,
  fail: FUNCTION,
  headers: FUNCTION,
  preflight: FUNCTION,
  streams: FUNCTION,
  ping: ['a text', isText],
  explain: FUNCTION,
  describe: FUNCTION,
}

/** The defect of the default export of a plugin; undefined: none. */
export const pluginFault = (plugin: unknown): MemberFault | undefined => {
  if (!isObject(plugin)) return { message: 'must export an object as its default' }
  const members = plugin as Readonly<Record<string, unknown>>
  const unknown = unknownMember(Object.keys(members), PLUGIN_MEMBERS)
  return unknown ?? shapeFault(members, PLUGIN_MEMBERS, REQUIRED)
}

/** The defect of the stage that `setup` returned. A class may have members of its own, but none
 *  that is nearly the name of a member of stages. */
export const stageFault = (stage: unknown): MemberFault | undefined => {
  if (!isObject(stage)) return { message: 'must return an object, the stage, from `setup`' }
  const members = stage as Readonly<Record<string, unknown>>
  const prototype = Object.getPrototypeOf(stage) as object | null
  const isPlain = prototype === Object.prototype || prototype === null
  const unknown = isPlain
    ? unknownMember(Object.keys(members), STAGE_MEMBERS, IN_STAGE)
    : misspelledMember(prototype)
  return unknown ?? shapeFault(members, STAGE_MEMBERS, [])
}
const IN_STAGE = 'in its stage '

/** The fault of a class of stages with a member whose name is nearly that of a stage; examined once
 *  for each class. */
const misspelledMember = (() => {
  const known = new WeakMap<object, { readonly fault: MemberFault | undefined }>()
  return (prototype: object): MemberFault | undefined => {
    const examined = known.get(prototype)
    if (examined) return examined.fault
    const unknown = unknownMember(Object.getOwnPropertyNames(prototype), STAGE_MEMBERS, IN_STAGE)
    const fault = unknown?.suggestion === undefined ? undefined : unknown
    known.set(prototype, { fault })
    return fault
  }
})()

const unknownMember = (
  names: readonly string[],
  known: Readonly<Record<string, Shape>>,
  where = '',
): MemberFault | undefined => {
  const faults = names
    .filter(name => !Object.hasOwn(known, name))
    .map(name => ({ name, suggestion: nearest(name, Object.keys(known)) }))
  const fault = faults.find(({ suggestion }) => suggestion !== undefined) ?? faults[0]
  if (!fault) return undefined
  const { name, suggestion } = fault
  return { message: `has ${where}the unknown member "${name}", which has no effect`, suggestion }
}

const shapeFault = (
  members: Readonly<Record<string, unknown>>,
  known: Readonly<Record<string, Shape>>,
  required: readonly string[],
): MemberFault | undefined => {
  for (const name in known) {
    const value = members[name]
    if (value === undefined && !required.includes(name)) continue
    const [description, fits] = known[name] as Shape
    if (!fits(value)) return { message: `needs its member "${name}" to be ${description}` }
  }
  return undefined
}

/** Plugins whose `default` does not fit their own schema, with the reason. */
export const defaultFaults = (
  plugins: ReadonlyMap<string, Plugin>,
  folder: string,
): ReadonlyMap<string, string> => {
  const withDefault = [...plugins].filter(([, plugin]) => plugin.default !== undefined)
  if (withDefault.length === 0) return new Map()
  const properties = Object.fromEntries(withDefault.map(([name, { schema }]) => [name, schema]))
  const accept = { file: () => true, password: () => true }
  const validate = compileSchema({ type: 'object', properties }, accept, folder)
  if (validate(Object.fromEntries(withDefault.map(([name, each]) => [name, each.default]))))
    return new Map()
  return new Map((validate.errors ?? []).toReversed().map(reasonOf))
}
const reasonOf = ({ instancePath, message = '' }: ErrorObject): readonly [string, string] => {
  const [, name = '', ...path] = instancePath.split('/')
  return [name, `${path.length === 0 ? 'it' : path.join('.')} ${message}`]
}
