/** What hosted tools did in a response: the upstream's own number of searches where it gives one, else its items. */
import type { Json } from '../../../engine/plugin.ts'
import type { Meter } from '../../slots.ts'
import { count, type Fields, inner, isFields } from '../fields.ts'
import { type HostedFacts, positive, type Tally } from '../format.ts'

const ITEMS: Readonly<Record<string, Meter>> = {
  web_search_call: 'web_search',
  file_search_call: 'file_search',
  code_interpreter_call: 'code_execution',
}

export const hosted: HostedFacts = {
  marks: ['_call"', 'tool_usage"'],
  begin: () => begin(),
}
const begin = (): Tally => {
  /** Id of an item -> what it is paid as. An item is told twice: when it is done, and in the whole response. */
  const items = new Map<string, Meter>()
  let searches: number | undefined
  const add = (item: Json | undefined, place: number): void => {
    const meter = isFields(item) ? meterOf(item) : undefined
    if (isFields(item) && meter) items.set(String(item.id ?? place), meter)
  }
  return {
    saw(body) {
      if (body.type === 'response.output_item.done') return add(body.item, count(body.output_index))
      const response = isFields(body.response) ? body.response : body
      if (Array.isArray(response.output)) response.output.forEach(add)
      const { num_requests: said } = inner(inner(response, 'tool_usage'), 'web_search')
      if (typeof said === 'number') searches = said
    },
    get meters() {
      const meters: { [meter: string]: number } = {}
      for (const meter of items.values()) meters[meter] = (meters[meter] ?? 0) + 1
      return positive(searches === undefined ? meters : { ...meters, web_search: searches })
    },
  }
}
/** Looking into a page that was found is part of the search. What failed is paid for by nobody. */
const meterOf = (item: Fields): Meter | undefined => {
  const { type: action } = inner(item, 'action')
  if (item.status === 'failed' || action === 'open_page' || action === 'find_in_page')
    return undefined
  return ITEMS[String(item.type)]
}
