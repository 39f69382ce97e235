/** Compares a response with what a case expects. Pure. */
import { isDeepStrictEqual } from 'node:util'
import { isFields } from '../../kit.ts'
import type { Json } from '../../plugin.ts'
import type { Expectation } from './cases.ts'

export interface Received {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}
export interface Difference {
  /** `status`, `header x`, `/choices/0`. */
  readonly at: string
  readonly expected: string
  readonly actual: string
}

export const differencesOf = (expect: Expectation, received: Received): readonly Difference[] => {
  const differences: Difference[] = []
  const differ = (at: string, expected: Json, actual: Json | undefined): void =>
    void differences.push({ at, expected: show(expected), actual: show(actual) })
  const { status, headers = {}, body, pointers = {}, charge } = expect
  if (status !== undefined && status !== received.status) differ('status', status, received.status)
  for (const [name, expected] of Object.entries(headers))
    if (!matchesText(expected, received.headers[name]))
      differ(`header ${name}`, expected, received.headers[name])
  if (charge !== undefined && !isSameNumber(charge, received.headers['x-tollgate-charge']))
    differ('charge', charge, received.headers['x-tollgate-charge'])
  if (body === undefined && Object.keys(pointers).length === 0) return differences
  const json = parse(received.text)
  if (typeof body === 'string' && json === undefined) {
    if (!matchesPart(body, received.text)) differ('body', body, received.text)
  } else if (body !== undefined) compareParts('', body, json, differ)
  for (const [pointer, expected] of Object.entries(pointers)) {
    const actual = resolvePointer(json, pointer)
    if (!matchesValue(expected, actual)) differ(pointer, expected, actual)
  }
  return differences
}

const parse = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
const WIDTH = 400
const show = (value: Json | undefined): string => {
  const text = value === undefined ? 'nothing' : JSON.stringify(value)
  return text.length > WIDTH ? `${text.slice(0, WIDTH)}…` : text
}

const expressionIn = (text: string): RegExp | undefined => {
  const [, source] = /^\/(.+)\/$/.exec(text) ?? []
  return source === undefined ? undefined : new RegExp(source)
}
const matchesText = (expected: string, actual: string | undefined): boolean =>
  actual !== undefined && (expressionIn(expected)?.test(actual) ?? expected === actual)
const matchesPart = (expected: string, actual: string): boolean =>
  expressionIn(expected)?.test(actual) ?? actual.includes(expected)
const isSameNumber = (expected: string, actual: string | undefined): boolean =>
  actual !== undefined && (expected === actual || Number(expected) === Number(actual))
const matchesValue = (expected: Json, actual: Json | undefined): boolean =>
  isDeepStrictEqual(expected, actual) ||
  (typeof expected === 'string' && typeof actual === 'string' && matchesText(expected, actual))

/** Members that are expected, at every depth; lists have the expected length. */
const compareParts = (
  at: string,
  expected: Json,
  actual: Json | undefined,
  differ: (at: string, expected: Json, actual: Json | undefined) => void,
): void => {
  if (isFields(expected) && isFields(actual)) {
    for (const [key, value] of Object.entries(expected))
      compareParts(
        `${at}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`,
        value,
        actual[key],
        differ,
      )
  } else if (
    Array.isArray(expected) &&
    Array.isArray(actual) &&
    expected.length === actual.length
  ) {
    for (const [index, value] of expected.entries())
      compareParts(`${at}/${index}`, value, actual[index], differ)
  } else if (!matchesValue(expected, actual)) differ(at === '' ? 'body' : at, expected, actual)
}

/** RFC 6901. */
const resolvePointer = (value: Json | undefined, pointer: string): Json | undefined =>
  pointer
    .split('/')
    .slice(1)
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<Json | undefined>(
      (inner, step) =>
        Array.isArray(inner) ? inner[Number(step)] : isFields(inner) ? inner[step] : undefined,
      value,
    )
