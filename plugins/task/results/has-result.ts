/** Decides whether the results of a finished task hold what the customer can use. Pure. */
import { isFields } from '../../../engine/kit.ts'
import type { Json } from '../../../engine/plugin.ts'
import type { Fields } from '../task.ts'

/** Whether a result has the address of a file or another value. Descriptive members do not count;
 *  flags and numbers count only in a result that has no address. `details`: members that the route
 *  adds; they are descriptive, unless they are addresses. */
export const hasResult = (results: readonly Json[], details: readonly string[] = []): boolean =>
  results.some(result => isFields(result) && isMade(withoutDetails(result, details)))
const withoutDetails = (result: Fields, details: readonly string[]): Fields =>
  Object.fromEntries(
    Object.entries(result).filter(([name]) => ADDRESS.test(name) || !details.includes(name)),
  )
/** Whether an element of a list of results has a value: an address in it decides. */
export const isFilled = (value: Json | undefined): boolean => {
  if (value === undefined || value === null) return false
  if (typeof value === 'string') return value.trim() !== ''
  if (Array.isArray(value)) return value.some(isFilled)
  return isFields(value) ? isMade(value) : true
}

/** A result without an address, such as a file that its id names, needs any value. */
const isMade = (result: Fields): boolean => {
  const members = membersOf(result)
  const own = members.filter(({ name }) => !isDescriptive(name))
  if (own.some(each => isContent(each.value) && hasValue(each))) return true
  return !own.some(({ isAddress }) => isAddress) && members.some(hasValue)
}
/** A flag or a count beside an empty address says nothing of a result. */
const isContent = (value: Json | undefined): boolean =>
  typeof value !== 'boolean' && typeof value !== 'number'

interface Member {
  readonly name: string
  readonly value: Json | undefined
  /** An address of a file, or data in its place. */
  readonly isAddress: boolean
}
/** All members, those inside others included. Elements of a list have its name. */
const membersOf = (fields: Fields, isInAddress = false): readonly Member[] =>
  Object.entries(fields).flatMap(([name, value]) =>
    membersAt(name, value, isInAddress || ADDRESS.test(name)),
  )
const membersAt = (
  name: string,
  value: Json | undefined,
  isAddress: boolean,
): readonly Member[] => {
  if (Array.isArray(value) && value.length > 0)
    return value.flatMap(element => membersAt(name, element, isAddress))
  return isFields(value) && hasMembers(value) && !isDescriptive(name)
    ? membersOf(value, isAddress)
    : [{ name, value, isAddress }]
}
const ADDRESS = /ur[il]s?$|^b64_json$/i
const hasMembers = (fields: Fields): boolean => Object.keys(fields).length > 0
/** Of a member that has no other members, unless it is descriptive. */
const hasValue = ({ value }: Member): boolean =>
  isFields(value) ? hasMembers(value) : isFilled(value)

/** Whether a member says how a result is, or repeats the request: it may be there without one. */
const isDescriptive = (name: string): boolean => {
  const normalized = normalize(name)
  return DESCRIPTIVE.has(normalized) || PATTERNS.some(pattern => pattern.test(normalized))
}
/** `createdAt` and `created_at` are the same. */
const normalize = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '')
const PATTERNS = [
  /prompt/,
  /^(?:error|callback|webhook|notif|input|reference)/,
  /^(?:cancel|polling|queue|response|status)url$/,
  /^(?:create|update|start|finish|complete|submit|end|expire)[ds]?(?:at|time)?$/,
]
const DESCRIPTIVE: ReadonlySet<string> = new Set([
  'aspectratio',
  'code',
  'contenttype',
  'duration',
  'filename',
  'format',
  'fps',
  'height',
  'id',
  'index',
  'logs',
  'message',
  'metrics',
  'mimetype',
  'model',
  'modelname',
  'modelversion',
  'msg',
  'name',
  'object',
  'parameters',
  'progress',
  'quality',
  'ratio',
  'reason',
  'request',
  'requestid',
  'resolution',
  'seconds',
  'seed',
  'size',
  'state',
  'status',
  'style',
  'tags',
  'taskid',
  'timings',
  'title',
  'traceid',
  'type',
  'usage',
  'version',
  'width',
])
