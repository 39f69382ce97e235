/** The file of `tollgate test`: what it may hold, and its cases. */
import { LineCounter, parseDocument } from 'yaml'
import { errors } from '../../errors.ts'
import { isFields } from '../../kit.ts'
import type { Json } from '../../plugin.ts'

type Fields = { readonly [name: string]: Json }
export interface Case {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Json | undefined
  /** Whether the request carries the key of the gateway. */
  readonly isAuthenticated: boolean
  readonly expect: Expectation
}
export interface Expectation {
  readonly status?: number
  /** Header -> text, or `/expression/`. */
  readonly headers?: Readonly<Record<string, string>>
  /** A part of the JSON body; or of the text, if it is a text. */
  readonly body?: Json
  /** JSON pointer -> value. */
  readonly pointers?: Fields
  /** In the currency of accounts, as `x-tollgate-charge` says it. */
  readonly charge?: string
}
export interface CaseFile {
  /** Upstream -> address; the sandbox serves the others. */
  readonly upstreams: Readonly<Record<string, string>>
  readonly cases: readonly Case[]
}

const fault = errors({
  CASES_YAML: [400, '%s:%d: %s'],
  CASES_SHAPE: [400, '%s: %s'],
})
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']
const REQUEST_KEYS = [...METHODS, 'headers', 'body', 'key']
const EXPECT_KEYS = ['status', 'headers', 'body', 'pointers', 'charge']

/** Throws CASES_YAML or CASES_SHAPE with the place of the mistake. */
export const readCases = (file: string, text: string): CaseFile => {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const [error] = document.errors
  if (error) throw fault('CASES_YAML', [file, lines.linePos(error.pos[0]).line, error.message])
  const content = document.toJS() as Json
  const refuse = (message: string): never => {
    throw fault('CASES_SHAPE', [file, message])
  }
  if (!isFields(content) || !Array.isArray(content.cases)) return refuse('it needs a list `cases:`')
  checkKeys(content, ['upstreams', 'cases'], 'the file', refuse)
  const list = content.cases as readonly Json[]
  return {
    upstreams: (isFields(content.upstreams) ? content.upstreams : {}) as Record<string, string>,
    cases: list.map((each, index) => readCase(each, `case ${index + 1}`, refuse)),
  }
}

type Refuse = (message: string) => never
const checkKeys = (fields: Fields, known: readonly string[], what: string, refuse: Refuse) => {
  const unknown = Object.keys(fields).find(key => !known.includes(key))
  if (unknown !== undefined)
    refuse(`${what} has the unknown key "${unknown}"; there are ${known.join(', ')}`)
}

const readCase = (value: Json, what: string, refuse: Refuse): Case => {
  if (!isFields(value) || !isFields(value.request) || !isFields(value.expect))
    return refuse(`${what} needs \`request\` and \`expect\``)
  const { name = what, request, expect } = value
  checkKeys(value, ['name', 'request', 'expect'], String(name), refuse)
  checkKeys(request, REQUEST_KEYS, `the request of "${name}"`, refuse)
  checkKeys(expect, EXPECT_KEYS, `what "${name}" expects`, refuse)
  const method = METHODS.find(each => request[each] !== undefined)
  if (method === undefined) return refuse(`the request of "${name}" needs a method, as POST: /path`)
  return {
    name: String(name),
    method,
    path: String(request[method]),
    headers: textsOf(request.headers),
    body: request.body,
    isAuthenticated: request.key !== false,
    expect: {
      ...(typeof expect.status === 'number' && { status: expect.status }),
      ...(isFields(expect.headers) && { headers: textsOf(expect.headers) }),
      ...(expect.body !== undefined && { body: expect.body }),
      ...(isFields(expect.pointers) && { pointers: expect.pointers }),
      ...(expect.charge !== undefined && { charge: String(expect.charge) }),
    },
  }
}
const textsOf = (value: Json | undefined): Record<string, string> =>
  Object.fromEntries(
    Object.entries(isFields(value) ? value : {}).map(([name, text]) => [
      name.toLowerCase(),
      String(text),
    ]),
  )
