/** Renders faults in the client's dialect: as a response, and as a stream event. */
import type { Exchange, Fault, Refusal, Request, Route } from '../../engine/plugin.ts'
import type { Shape } from '../shapes.ts'
import { anthropic } from './anthropic.ts'
import { type Dialect, type ErrorRow, type ErrorView, rowOf } from './dialect.ts'
import { envelope } from './envelope.ts'
import { google } from './google.ts'
import { midjourney } from './midjourney.ts'
import { newApi } from './new-api.ts'
import { openai } from './openai.ts'
import { scim } from './scim.ts'
import { asUnavailable } from './unavailable.ts'
import { vidu } from './vidu.ts'

export const dialects = {
  openai,
  anthropic,
  google,
  vidu,
  midjourney,
  'new-api': newApi,
  envelope,
  scim,
} as const
export type DialectName = keyof typeof dialects

/** The error dialect of a route; undefined: the engine's own format. */
export const dialectOf = (route: Pick<Route, 'option'>): DialectName | undefined =>
  route.option('errors') as DialectName | undefined

/** The message of faults whose own message is internal. */
const INTERNAL_MESSAGE = 'The gateway failed to process this request.'

/** `id`: the request id, so that a customer's report leads to the log. */
export const render = (
  name: DialectName,
  fault: Fault,
  { id, request }: Pick<Exchange, 'id' | 'request'>,
): Refusal => {
  const dialect: Dialect = dialects[name]
  const { body, status, headers } = errorResponse(name, fault, id)
  const event = dialect.event?.(body, request)
  return {
    status,
    headers,
    body: Buffer.from(JSON.stringify(body)),
    ...(event !== undefined && { event: Buffer.from(event) }),
  }
}

/** Whether a request in this dialect requests a stream. */
export const streams = (name: DialectName, request: Request): boolean | Promise<boolean> => {
  const dialect: Dialect = dialects[name]
  return dialect.streams?.(request) ?? false
}

/** The ping of its streams; absent: a comment. */
export const pingOf = (name: DialectName): Pick<Dialect, 'ping'> => {
  const { ping }: Dialect = dialects[name]
  return ping === undefined ? {} : { ping }
}

/** JSON Schema of the error bodies. */
export const errorSchema = (name: DialectName): Shape => ({
  title: `${name} error`,
  ...dialects[name].schema,
})

/** The status of a fault in the dialect. */
export const statusIn = (name: DialectName | undefined, code: string, status: number): number => {
  const dialect: Dialect | undefined = name && dialects[name]
  return dialect?.faults[code]?.status ?? dialect?.statuses[status]?.status ?? status
}

/** The error body only, for callers that frame the event themselves. */
export const bodyOf = (name: DialectName, fault: Fault, id: string) =>
  errorResponse(name, fault, id).body

const errorResponse = (name: DialectName, original: Fault, id: string) => {
  const dialect: Dialect = dialects[name]
  const fault = asUnavailable(original)
  const visible: ErrorView = {
    code: fault.code,
    status: fault.status,
    message: fault.expose ? fault.message : INTERNAL_MESSAGE,
    param: fault.expose ? fault.param : undefined,
    id,
    headers: fault.headers ?? {},
  }
  const row = rowOf(dialect, visible, fault.as?.[name])
  const view = { ...visible, message: messageOf(row, visible) }
  return {
    body: dialect.body(view, row),
    status: row.status ?? view.status,
    headers: {
      'content-type': 'application/json',
      ...dialect.headers?.(view),
      ...view.headers,
    },
  }
}

const messageOf = ({ message, fields }: ErrorRow, view: ErrorView): string => {
  if (message === undefined) return view.message
  // A message with %s applies only to faults with a field.
  if (!message.includes('%s')) return message
  return view.param === undefined
    ? view.message
    : message.replace('%s', () => fields ?? view.param ?? '')
}
