/** What Google's own tools did in an answer. Grounding is paid for by the answer, however many queries it took; models of
 *  the trait `search_unit: query` pay for each. */
import type { Json } from '../../../engine/plugin.ts'
import { inner, isFields } from '../fields.ts'
import { type HostedFacts, positive, type Tally } from '../format.ts'

export const hosted: HostedFacts = {
  marks: ['webSearchQueries"', 'executableCode"'],
  begin: ({ search_unit: unit }) => begin(unit === 'query'),
}
const begin = (each: boolean): Tally => {
  /** The pieces of a stream may repeat them. */
  const queries = new Set<string>()
  let programs = 0
  const hear = (candidate: Json): void => {
    if (!isFields(candidate)) return
    const { webSearchQueries: asked } = inner(candidate, 'groundingMetadata')
    for (const query of Array.isArray(asked) ? asked : [])
      if (typeof query === 'string' && query !== '') queries.add(query)
    const { parts } = inner(candidate, 'content')
    if (Array.isArray(parts))
      programs += parts.filter(part => isFields(part) && isFields(part.executableCode)).length
  }
  return {
    saw({ candidates }) {
      if (Array.isArray(candidates)) candidates.forEach(hear)
    },
    get meters() {
      const searches = each ? queries.size : Math.min(1, queries.size)
      return positive({ web_search: searches, code_execution: programs })
    },
  }
}
