/** Refuses query parameters that an endpoint does not have: with a mistyped filter, a list would
 *  show every row. Pure. */
import { nearest } from '../../engine/config/nearest.ts'
import { errors } from '../../engine/errors.ts'
import type { RouteDescription } from '../../engine/plugin.ts'

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

/** The query parameters in the description of a route. */
export const parametersOf = ({ parameters = [] }: RouteDescription): readonly string[] =>
  parameters.flatMap(each => (each.in === 'query' ? [each.name] : []))
