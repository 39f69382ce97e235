/** Counts hosted tool calls of a response: by the upstream's own number of searches if present,
 *  otherwise by items. */
import type { Json } from '../../../engine/plugin.ts'
import type { Meter } from '../../slots.ts'
import { count, type Fields, isFields, lenientObject } from '../fields.ts'
import { type HostedUsage, type HostedUsageFacts, omitZeroMeters } from '../format.ts'

const METERS_BY_TYPE: Readonly<Record<string, Meter>> = {
  web_search_call: 'web_search',
  file_search_call: 'file_search',
  code_interpreter_call: 'code_execution',
}

export const hostedUsage: HostedUsageFacts = {
  marks: ['_call"', 'tool_usage"'],
  begin: () => startCounting(),
}
const startCounting = (): HostedUsage => {
  /** Item id -> meter. An item occurs twice: when it is done, and in the whole response. */
  const items = new Map<string, Meter>()
  let searches: number | undefined
  const add = (item: Json | undefined, position: number): void => {
    const meter = isFields(item) ? meterOf(item) : undefined
    if (isFields(item) && meter) items.set(String(item.id ?? position), meter)
  }
  return {
    observe(body) {
      if (body.type === 'response.output_item.done') return add(body.item, count(body.output_index))
      const response = isFields(body.response) ? body.response : body
      if (Array.isArray(response.output)) response.output.forEach(add)
      const { num_requests: searchCount } = lenientObject(
        lenientObject(response, 'tool_usage'),
        'web_search',
      )
      if (typeof searchCount === 'number') searches = searchCount
    },
    get meters() {
      const meters: { [meter: string]: number } = {}
      for (const meter of items.values()) meters[meter] = (meters[meter] ?? 0) + 1
      return omitZeroMeters(searches === undefined ? meters : { ...meters, web_search: searches })
    },
  }
}
/** Opening a search result is part of the search. Failed calls are not charged. */
const meterOf = (item: Fields): Meter | undefined => {
  const { type: action } = lenientObject(item, 'action')
  if (item.status === 'failed' || action === 'open_page' || action === 'find_in_page')
    return undefined
  return METERS_BY_TYPE[String(item.type)]
}
