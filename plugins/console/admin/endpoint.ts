/** The form of the endpoints of operators. One table of them serves `/api/admin/*` and the admin
 *  listener. */
import type { HostBase, Json } from '../../../engine/plugin.ts'
import { queryFault } from '../../operator/faults.ts'
import type { Actor } from '../../operator/operation.ts'
import type { Shape } from '../../shapes.ts'
import type { KeyUse } from '../../slots.ts'

export interface AdminCall {
  readonly query: URLSearchParams
  /** A body that the schema of the endpoint accepts. */
  readonly body: { readonly [name: string]: Json }
  /** Who calls: the name of the account; `admin listener` over its socket. */
  readonly actor: string
  /** Who calls: the number of the account; undefined over the socket of the admin listener. */
  readonly account?: number
  /** Its credential, address and request id, as far as they are known. */
  readonly origin?: Pick<Actor, 'credential' | 'address' | 'request'>
  readonly keyUse?: KeyUse | undefined
}
export interface AdminEndpoint {
  /** One sentence, for the list of endpoints and for the OpenAPI. */
  readonly summary: string
  /** Names of the query parameters, with what they are. */
  readonly query?: Readonly<Record<string, string>>
  /** JSON Schema of the body. Endpoints with a body change something. */
  readonly body?: { readonly [name: string]: Json }
  /** JSON Schema of `data` in its response. */
  readonly data: Shape
  run(call: AdminCall, host: HostBase): Promise<AdminResult>
  /** It shows prompts or secrets: a row of the log of actions names what it shows. */
  reveals?(query: URLSearchParams): string
  /** It changes nothing: a check of a text, a test of an upstream. */
  readonly isQuiet?: boolean
}
/** An endpoint that sends events until the client leaves, in the format of server-sent events. The
 *  admin listener has none of these. */
export interface EventEndpoint extends Pick<AdminEndpoint, 'summary' | 'query'> {
  /** Yields what each event contains. Throws a fault before its first `await` for a bad query. */
  follow(query: URLSearchParams, host: HostBase, signal: AbortSignal): AsyncGenerator<Json>
}
export type EventEndpoints = Readonly<Record<string, EventEndpoint>>
export interface AdminResult {
  readonly data: Json
  /** Cursor of the next page of a list. */
  readonly next?: string | null
  /** Of a change, for the log. */
  readonly change?: { readonly before: Json; readonly after: Json }
}
/** By method and path below `/api/admin/`: `POST accounts/credit`. */
export type AdminEndpoints = Readonly<Record<string, AdminEndpoint>>

export const bodyOf = (
  properties: { readonly [name: string]: Json },
  required: readonly string[],
) => ({ type: 'object', additionalProperties: false, required, properties })
/** A view of the contract as JSON: members that are undefined are absent. */
export const asJson = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json
/** A text of a query: undefined if it is missing or empty. */
export const textIn = (query: URLSearchParams, name: string): string | undefined =>
  query.get(name)?.trim() || undefined
/** A number of a query: null if it is missing. */
export const numberIn = (query: URLSearchParams, name: string): number | null => {
  const text = textIn(query, name)
  if (text === undefined) return null
  if (!/^\d{1,15}$/.test(text)) throw queryFault(name, 'a number')
  return Number(text)
}
/** The value of a parameter that has a few choices; `usual` if it is missing. */
export const choiceIn = <Choice extends string, Usual>(
  query: URLSearchParams,
  name: string,
  choices: readonly Choice[],
  usual: Usual,
): Choice | Usual => {
  const value = textIn(query, name)
  if (value === undefined) return usual
  const choice = choices.find(each => each === value)
  if (choice === undefined) throw queryFault(name, choices.join(', '))
  return choice
}
