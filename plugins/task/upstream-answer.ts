/** Reads an upstream's answers about a task: the state, the results and the error. Pure. */
import type { Json } from '../../engine/plugin.ts'
import { isMeter } from '../billing/meters.ts'
import { countOf } from '../billing/usage.ts'
import { isStorable } from '../formats/fields.ts'
import type { Meter } from '../slots.ts'
import type { SubmitOutcome, TaskRule } from './options.ts'
import { HEADER, readPointer } from './pointer.ts'
import { hasResult, isFilled } from './results/has-result.ts'
import { type ReportedUsage, TASK_ERRORS, type TaskError } from './task.ts'
import type { UpstreamAnswer } from './upstream-call.ts'

/** The id of the upstream at an `ID_PLACE`: of an address in a header the last part of its path.
 *  Undefined if the answer has none. */
export const idIn = ({ json, headers }: UpstreamAnswer, place: string): string | undefined => {
  if (!place.startsWith(HEADER)) return textAt(json, place)
  const text = String(headers[place.slice(HEADER.length).toLowerCase()] ?? '')
  const [path = ''] = text.split('?')
  return path.split('/').findLast(part => part !== '')
}
/** The text, number or truth value at a pointer. Undefined if there is none, or an empty text. */
export const textAt = (json: Json | undefined, pointer: string): string | undefined => {
  const value = readPointer(json, pointer)
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}
const textIn = (json: Json | undefined, ...pointers: readonly string[]): string | undefined =>
  pointers.map(pointer => textAt(json, pointer)).find(text => text !== undefined)
/** Each result as an object: a plain URL becomes its `url`. */
const resultsOf = (value: Json | undefined): readonly Json[] => {
  const list = value === undefined || value === null ? [] : Array.isArray(value) ? value : [value]
  return list.map(each => (typeof each === 'string' ? { url: each } : (each as Json)))
}
/** The results in the answer to a poll; the first one has the details. */
export const polledResults = (
  { json, results = json }: Pick<UpstreamAnswer, 'json' | 'results'>,
  { poll }: Pick<TaskRule, 'poll'>,
): readonly Json[] => {
  const list = resultsOf(readPointer(results, poll.results))
  // Of an upstream that may finish without a file, the details are the result.
  const [first = poll.needsResult ? undefined : {}, ...others] = list
  if (poll.details.length === 0 || typeof first !== 'object') return list
  const details = poll.details.flatMap(([name, pointer]) => {
    const value = readPointer(results, pointer)
    return value === undefined || value === null ? [] : [[name, value] as const]
  })
  return [{ ...first, ...Object.fromEntries(details) }, ...others]
}

/** Whether polled results hold what the customer can use: the details do not count. */
export const holdsResult = (results: readonly Json[], { poll }: Pick<TaskRule, 'poll'>): boolean =>
  hasResult(
    results,
    poll.details.map(([name]) => name),
  )

/** Where answers name the model. */
const MODEL_PLACES = ['/model', '/data/model']

/** The results that the upstream reports. Numbers that no meter can have do not count. `earlier`:
 *  the report in the answer to the submit, which stands for members that this one leaves out. */
export const reportedUsage = (
  { json, results }: Pick<UpstreamAnswer, 'json' | 'results'>,
  { poll }: Pick<TaskRule, 'poll'>,
  earlier?: ReportedUsage,
): ReportedUsage | undefined => {
  const meters: Record<string, number> = { ...earlier?.meters }
  const attributes: Record<string, string | number | boolean> = { ...earlier?.attributes }
  for (const [name, pointer] of poll.usage) {
    const value = readPointer(results, pointer) ?? readPointer(json, pointer)
    if (isMeter(name)) {
      const count = countOf(PIECES.has(name) && Array.isArray(value) ? filledIn(value) : value)
      if (count !== undefined) meters[name] = count
    } else if (typeof value === 'number' || typeof value === 'boolean' || isShortText(value))
      attributes[name] = value as string | number | boolean
  }
  const model = textIn(json, ...MODEL_PLACES) ?? earlier?.model
  const isEmpty = Object.keys(meters).length + Object.keys(attributes).length === 0
  if (model === undefined || !isStorable(model, MAX_MODEL_LENGTH))
    return isEmpty ? undefined : { meters, attributes }
  return { meters, attributes, model }
}
/** Meters of pieces: a list has as many as elements that hold something. A length says nothing of
 *  other meters, such as seconds. */
const PIECES: ReadonlySet<Meter> = new Set(['images', 'calls', 'image_generation'])
const filledIn = (list: readonly Json[]): number => list.filter(isFilled).length
const MAX_MODEL_LENGTH = 256
const isShortText = (value: Json | undefined): boolean =>
  typeof value === 'string' && value !== '' && isStorable(value, 64)

/** Percent, from a number or a text such as `45%`; undefined if the answer has none. */
export const progressOf = (
  json: Json | undefined,
  pointer: string | undefined,
): number | undefined => {
  const text = pointer === undefined ? undefined : textAt(json, pointer)
  const [, percent] = /^(\d{1,3}(?:\.\d+)?)%?$/.exec(text ?? '') ?? []
  return percent === undefined ? undefined : Math.min(100, Math.round(Number(percent)))
}
/** The meaning of the answer to a submit. `unknown`: from 500 on, if the provider does not say that
 *  it has created nothing. A proxy that answers in its place may have a code, too: then only codes
 *  with a meaning of their own count. */
export const submitOutcome = (
  answer: UpstreamAnswer,
  rule: Pick<TaskRule, 'submit'>,
): SubmitOutcome | 'unknown' => {
  const { code, codes, refusesByCode } = rule.submit
  const { status, json } = answer
  const text = code === undefined ? undefined : textAt(json, code)
  const named = text === undefined ? undefined : codes.get(text)
  const coded = named ?? (text === undefined ? undefined : codes.get('default'))
  if (status < 300) return coded ?? 'submitted'
  if (status < 500) return 'failed'
  const isRefused = isRefusal(answer, rule) || (refusesByCode && named !== undefined)
  return !isRefused || coded === 'submitted' ? 'unknown' : (coded ?? 'failed')
}
/** Whether an answer from 500 on, or one without an id, comes from the provider and says that
 *  nothing was created. */
export const isRefusal = (
  { status, json }: UpstreamAnswer,
  { submit }: Pick<TaskRule, 'submit'>,
): boolean =>
  submit.refused.some(each =>
    typeof each === 'number' ? each === status : textAt(json, each) !== undefined,
  )
/** The results in the answer to a submit; undefined where the work goes on. */
export const finishedResults = (
  json: Json | undefined,
  { submit, poll }: TaskRule,
): readonly Json[] | undefined => {
  if (submit.results === undefined) return undefined
  if (poll.states.get(textAt(json, poll.state) ?? '') !== 'succeeded') return undefined
  const results = resultsOf(readPointer(json, submit.results))
  return results.length > 0 ? results : undefined
}
/** Characters of an error's code and text that are kept. */
const [CODE_LIMIT, TEXT_LIMIT] = [200, 4_000]

/** Whether the answer has an error where the route says. */
export const hasError = (json: Json | undefined, { poll }: Pick<TaskRule, 'poll'>): boolean =>
  [poll.error.code, poll.error.message].some(
    place => place !== undefined && textAt(json, place) !== undefined,
  )
export const errorOf = (json: Json | undefined, { poll }: TaskRule): TaskError => {
  const { code = '/reason', message = '/message' } = poll.error
  const upstreamCode = textIn(json, code, '/reason', '/error/code', '/description')
  return {
    code: (upstreamCode ?? TASK_ERRORS.internal).slice(0, CODE_LIMIT),
    message: (textAt(json, message) ?? textAt(json, '/error/message') ?? '').slice(0, TEXT_LIMIT),
  }
}
