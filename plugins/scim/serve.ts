/** Answers the requests about users and groups. */
import type { Exchange, Host, Json } from '../../engine/plugin.ts'
import { listOf, MOST_RESULTS, SCHEMAS } from '../scim-protocol/discovery.ts'
import { fault } from '../scim-protocol/faults.ts'
import { readFilter } from '../scim-protocol/patch.ts'
import { type Changes, NAMES, type Stored } from './changes.ts'
import { create, modify, remove, replace } from './resources.ts'
import { COUNT, type Kind, LIST, listValues } from './tables.ts'

/** By the last part of their paths. */
export const VIEWS = { Users: 'user', Groups: 'group' } as const satisfies Readonly<
  Record<string, Kind>
>
export const HEADERS = { 'content-type': 'application/scim+json', 'cache-control': 'no-store' }
const answer = (exchange: Exchange, status: number, body: Json, headers = {}): void => {
  const bytes = Buffer.from(JSON.stringify(body))
  exchange.answer(status, bytes, { ...HEADERS, ...headers })
}

/** Throws SCIM_…. */
export const serve = async (
  kind: Kind,
  host: Host,
  exchange: Exchange,
  changes: Changes,
): Promise<void> => {
  const { request, params } = exchange
  const { method, query } = request
  const { id } = params
  if (method === 'POST') {
    const created = await create(changes, kind, await request.json())
    const view = await render(host, changes, await changes.find(kind, created))
    return answer(exchange, 201, view, { location: view.meta.location })
  }
  if (id === undefined) return answer(exchange, 200, await listPage(kind, host, changes, query))
  if (method === 'DELETE') {
    await remove(changes, kind, id)
    exchange.answer(204)
    return
  }
  if (method === 'PUT') await replace(changes, kind, id, await request.json())
  if (method === 'PATCH') await modify(changes, kind, id, await request.json())
  const view = await render(host, changes, await changes.find(kind, id))
  answer(exchange, 200, select(view, query))
}

type View = { readonly [name: string]: Json } & {
  readonly meta: { readonly [name: string]: string; readonly location: string }
}
const render = async (
  host: Host,
  changes: Changes,
  { kind, id, resource, created, changed }: Stored,
): Promise<View> => {
  const others = await changes.others(kind, id)
  const [resourceType, endpoint] =
    kind === 'user' ? (['User', 'Users'] as const) : (['Group', 'Groups'] as const)
  return {
    schemas: [SCHEMAS[endpoint]],
    id: String(id),
    ...(resource as Readonly<Record<string, Json>>),
    [kind === 'user' ? 'groups' : 'members']: others.map(each => ({
      value: String(each.id),
      display: each.name,
    })),
    meta: {
      resourceType,
      created: new Date(created).toISOString(),
      lastModified: new Date(changed).toISOString(),
      location: `${host.url(host.route.pattern.replace(/\/\{.*/, ''))}/${id}`,
    },
  }
}
const namesIn = (query: URLSearchParams, name: string): readonly string[] =>
  (query.get(name) ?? '').split(',').flatMap(each => each.trim().toLowerCase() || [])
/** The parameters `attributes` and `excludedAttributes` (RFC 7644 §3.9). */
const select = (view: View, query: URLSearchParams): Json => {
  const [only, excluded] = [namesIn(query, 'attributes'), namesIn(query, 'excludedAttributes')]
  const isIn = (names: readonly string[], name: string) =>
    names.some(each => each.split(/[.:]/).includes(name.toLowerCase()))
  const isShown = (name: string): boolean =>
    ['id', 'schemas'].includes(name) || (only.length > 0 ? isIn(only, name) : !isIn(excluded, name))
  return Object.fromEntries(Object.entries(view).filter(([name]) => isShown(name)))
}

const wholeIn = (query: URLSearchParams, name: string, other: number): number => {
  const text = query.get(name)
  if (text === null) return other
  if (!/^-?\d{1,9}$/.test(text)) throw fault('SCIM_VALUE', [`${name} must be a whole number`])
  return Number(text)
}
const listPage = async (
  kind: Kind,
  host: Host,
  changes: Changes,
  query: URLSearchParams,
): Promise<Json> => {
  const startIndex = Math.max(wholeIn(query, 'startIndex', 1), 1)
  const count = Math.min(Math.max(wholeIn(query, 'count', 100), 0), MOST_RESULTS)
  const text = query.get('filter')
  const { name, value = '' } = text === null ? {} : readFilter(text, [NAMES[kind], 'externalId'])
  const values = listValues(
    kind,
    name === NAMES[kind] ? value.toLowerCase() : null,
    name === 'externalId' ? value : null,
  )
  const [sum] = await host.database.read(COUNT, values)
  const rows = await host.database.read(LIST, [...values, count, startIndex - 1])
  const resources: Json[] = []
  for (const row of rows) {
    const view = await render(host, changes, await changes.stored(kind, row))
    resources.push(select(view, query))
  }
  return listOf(resources, { total: Number(sum?.total), startIndex })
}
