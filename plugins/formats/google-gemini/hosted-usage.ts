/** Counts hosted tool calls of an answer. Grounding is charged per answer regardless of the
 *  queries; models with the trait `search_unit: query` are charged per query. */
import type { Json } from '../../../engine/plugin.ts'
import { isFields, lenientObject } from '../fields.ts'
import { type HostedUsage, type HostedUsageFacts, omitZeroMeters } from '../format.ts'

export const hostedUsage: HostedUsageFacts = {
  marks: ['webSearchQueries"', 'executableCode"'],
  begin: ({ search_unit: unit }) => startCounting(unit === 'query'),
}
const startCounting = (perQuery: boolean): HostedUsage => {
  /** Events of a stream may repeat queries. */
  const queries = new Set<string>()
  let programs = 0
  const addCandidate = (candidate: Json): void => {
    if (!isFields(candidate)) return
    const { webSearchQueries: candidateQueries } = lenientObject(candidate, 'groundingMetadata')
    for (const query of Array.isArray(candidateQueries) ? candidateQueries : [])
      if (typeof query === 'string' && query !== '') queries.add(query)
    const { parts } = lenientObject(candidate, 'content')
    if (Array.isArray(parts))
      programs += parts.filter(part => isFields(part) && isFields(part.executableCode)).length
  }
  return {
    observe({ candidates }) {
      if (Array.isArray(candidates)) candidates.forEach(addCandidate)
    },
    get meters() {
      const searches = perQuery ? queries.size : Math.min(1, queries.size)
      return omitZeroMeters({ web_search: searches, code_execution: programs })
    },
  }
}
