/** Any fault in the client's dialect: as an answer, and as an event of a stream. */
import type { Fault, Refusal, Request, Route } from '../../engine/plugin.ts'
import { anthropic } from './anthropic.ts'
import { type Dialect, type Row, rowOf, type View } from './dialect.ts'
import { envelope } from './envelope.ts'
import { google } from './google.ts'
import { midjourney } from './midjourney.ts'
import { openai } from './openai.ts'
import { asUnavailable } from './unavailable.ts'
import { vidu } from './vidu.ts'

export const dialects = { openai, anthropic, google, vidu, midjourney, envelope } as const
export type DialectName = keyof typeof dialects

/** In which the errors of a route are written; undefined: as the engine writes them. */
export const dialectOf = (route: Pick<Route, 'option'>): DialectName | undefined =>
  route.option('errors') as DialectName | undefined

/** What a fault that may not be read says instead. */
const HIDDEN = 'The gateway failed to process this request.'

/** `id`: the request's, so that a customer's report leads to the log. */
export const render = (name: DialectName, fault: Fault, id: string): Refusal => {
  const dialect: Dialect = dialects[name]
  const { body, status, headers } = answer(dialect, fault, id)
  const event = dialect.event?.(body)
  return {
    status,
    headers,
    body: Buffer.from(JSON.stringify(body)),
    ...(event !== undefined && { event: Buffer.from(event) }),
  }
}

/** Whether a client of this dialect asks for a stream. */
export const streams = (name: DialectName, request: Request): boolean | Promise<boolean> => {
  const dialect: Dialect = dialects[name]
  return dialect.streams?.(request) ?? false
}

/** Only the body, for whoever frames the event himself. */
export const bodyOf = (name: DialectName, fault: Fault, id: string) =>
  answer(dialects[name], fault, id).body

const answer = (dialect: Dialect, thrown: Fault, id: string) => {
  const fault = asUnavailable(thrown)
  const seen: View = {
    code: fault.code,
    status: fault.status,
    message: fault.expose ? fault.message : HIDDEN,
    param: fault.expose ? fault.param : undefined,
    id,
    headers: fault.headers ?? {},
  }
  const row = rowOf(dialect, seen)
  const view = { ...seen, message: wording(row, seen) }
  return {
    body: dialect.body(view, row),
    status: row.status ?? seen.status,
    headers: {
      'content-type': 'application/json',
      ...dialect.headers?.(view),
      ...seen.headers,
    },
  }
}

const wording = ({ message }: Row, seen: View): string => {
  if (message === undefined) return seen.message
  // A row that names the field has nothing to say where no field is at fault.
  if (!message.includes('%s')) return message
  return seen.param === undefined ? seen.message : message.replace('%s', () => seen.param ?? '')
}
