/** A client of the routes of Vidu under /ent/v2, and answers of an upstream of that dialect. */
import { plain } from '../../../fixtures/upstream/scenarios.ts'
import { eventually } from '../../../helpers/gateway/primary.ts'
import { gateway, key, upstream } from '../shipped-gateway.ts'

export type Fields = Readonly<Record<string, unknown>>

/** `request`: the id of the request. */
export const call = async (
  method: string,
  path: string,
  body?: Fields,
  headers: Readonly<Record<string, string>> = {},
) => {
  const response = await fetch(`${gateway.url}${path}`, {
    method,
    headers: { authorization: `Token ${key}`, 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  const json = (await response.json()) as Fields
  return { status: response.status, json, request: response.headers.get('x-request-id') ?? '' }
}

/** The upstream reads a request and answers with this JSON. */
export const turn = (json: unknown) => [{ do: 'body' } as const, plain(json)]

/** The bodies of all requests that created a task at the upstream, in their order. */
export const sentBodies = async (): Promise<readonly Fields[]> =>
  (await upstream.events('body', 'vd'))
    .map(({ body }) => Buffer.from(body.bytes).toString())
    .filter(text => text !== '')
    .map(text => JSON.parse(text) as Fields)

/** Queries a task until it has ended. */
export const resultOf = (id: unknown): Promise<Fields> =>
  eventually(async () => {
    const { json } = await call('GET', `/ent/v2/tasks/${id}/creations?wait=5`)
    return json.state === 'success' || json.state === 'failed' ? json : undefined
  })

export const receiptOf = async (id: string): Promise<Fields> =>
  (await call('GET', `/api/usage/${id}`)).json.data as Fields
