/** A kind of request that costs money or makes something: how it is made, and how its effect is
 *  found. */

export interface Call {
  readonly path: string
  readonly init: {
    readonly body: string | FormData
    readonly headers: Readonly<Record<string, string>>
  }
}
/** Whose request it is, and what was made for it before the faults. */
export interface Subject {
  /** Unique; the Idempotency-Key, and in the request, so that its rows can be found. */
  readonly name: string
  /** The number of its own API key. */
  readonly key: number
  /** The number of its account. */
  readonly account: number
  /** The result of `prepare`. */
  readonly prepared: string
}
export interface Fields {
  readonly [name: string]: unknown
}
/** The operator's access to the gateway, before the faults. */
export interface Preparation {
  /** Sends a request of the operator without an Idempotency-Key: with the system token where it is
   *  told, else with his API key. Resolves to the JSON of the answer. */
  send(call: Call, credential?: string): Promise<Fields>
  /** His system token. */
  readonly token: string
}
export interface Kind {
  readonly name: string
  /** The name of its route in the configuration. */
  readonly route: string
  /** Whether each request is charged once. */
  readonly isBilled: boolean
  make(name: string, prepared: string): Call
  /** Makes what the request refers to; `credential`: the one of the request. */
  prepare?(preparation: Preparation, credential: string): Promise<string>
  /** Whether its account makes no other request, and is a customer with a system token. */
  readonly hasOwnAccount?: true
  readonly isStream?: boolean
  /** The credential of the request, if it is not the API key. */
  readonly token?: string
  /** Whether a repetition may be told only that it happened. */
  readonly replayIsRefused?: boolean
  /** Whether the answer lacks its end. */
  isBroken?(text: string): boolean
  /** Reads `id` and `name` of all that requests of this kind made, and `free`: 1 if it need not
   *  be charged. */
  readonly rows?: string
  /** The name in the column `name`, where that contains more. */
  nameIn?(text: string): string
  /** The name of a row, where it is not the name of the request. */
  nameOfRow?(subject: Subject): string
  /** The id that the answer names; undefined: it names none. */
  idIn?(text: string): string
}

export const json = (path: string, body: object): Call => ({
  path,
  init: { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } },
})
export const form = (
  path: string,
  fields: Readonly<Record<string, string>>,
  [field, name, content]: readonly [field: string, name: string, content: string | Uint8Array],
): Call => {
  const body = new FormData()
  for (const [each, value] of Object.entries(fields)) body.append(each, value)
  body.append(field, new Blob([content as string]), name)
  return { path, init: { body, headers: {} } }
}
export const fieldsIn = (text: string): Fields => JSON.parse(text) as Fields
export const member = (name: string) => (text: string) => String(fieldsIn(text)[name])
/** A member of the answer's `data`. */
export const dataMember = (name: string) => (text: string) =>
  String((fieldsIn(text).data as Fields)[name])
export const messages = (content: string) => ({ messages: [{ role: 'user', content }] })
export const byKey = ({ key }: Subject): string => String(key)
export const byAccount = ({ account }: Subject): string => String(account)
export const byPrepared = ({ prepared }: Subject): string => prepared
/** A call that is charged, and makes nothing else. */
export const billed = (name: string, route: string, make: (name: string) => Call): Kind => ({
  name,
  route,
  isBilled: true,
  make,
})
