/** Refuses query parameters that an endpoint does not have: with a mistyped filter, a list would
 *  show every row. */
import { nearest } from '../../engine/config/nearest.ts'
import { errors } from '../../engine/errors.ts'
import type { Exchange, RouteDescription } from '../../engine/plugin.ts'

const fault = errors({ QUERY_UNKNOWN: [400, '`%s` is not a parameter here; %s'] })

/** `names`: those of the endpoint. Throws QUERY_UNKNOWN. */
export const refuseUnknownParameters = (query: URLSearchParams, names: readonly string[]): void => {
  for (const name of query.keys())
    if (!names.includes(name)) {
      const shortName = name.slice(0, 64)
      throw fault('QUERY_UNKNOWN', [shortName, hintFor(name, names)], { param: shortName })
    }
}
const hintFor = (name: string, names: readonly string[]): string => {
  if (names.length === 0) return 'this endpoint has none'
  const suggestion = nearest(name, names)
  return suggestion === undefined
    ? `the known ones are ${names.join(', ')}`
    : `do you mean \`${suggestion}\`?`
}

type Handle = (exchange: Exchange) => void | Promise<void>
/** The handler, which first refuses query parameters that the description does not have. */
export const withKnownParameters = (
  { parameters = [] }: RouteDescription,
  handle: Handle,
): ((exchange: Exchange) => Promise<void>) => {
  const names = parameters.flatMap(each => (each.in === 'query' ? [each.name] : []))
  return async exchange => {
    refuseUnknownParameters(exchange.request.query, names)
    await handle(exchange)
  }
}
