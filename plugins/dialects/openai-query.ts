/** Reads the parameters of OpenAI's lists, and writes their pages. Faults have the codes that
 *  OpenAI's clients know. */
import { errors } from '../../engine/errors.ts'
import type { Json } from '../../engine/plugin.ts'

const code = (text: string) => ({ openai: { code: text } })

const fault = errors({
  INTEGER_INVALID: [
    400,
    "Invalid type for '%s': expected an integer, but got '%s' instead.",
    { as: code('invalid_type') },
  ],
  INTEGER_BELOW: [
    400,
    "Invalid '%s': integer below minimum value. Expected a value >= %d, but got %d instead.",
    { as: code('integer_below_min_value') },
  ],
  INTEGER_ABOVE: [
    400,
    "Invalid '%s': integer above maximum value. Expected a value <= %d, but got %d instead.",
    { as: code('integer_above_max_value') },
  ],
  LIST_ORDER: [
    400,
    "Invalid value: '%s'. Supported values are: 'asc' and 'desc'.",
    { param: 'order', as: code('invalid_value') },
  ],
})

/** The integer that a client wrote, within its limits. */
export const integerIn = (name: string, text: string, min: number, max: number): number => {
  if (!/^-?\d{1,15}$/.test(text))
    throw fault('INTEGER_INVALID', [name, text.slice(0, 100)], { param: name })
  const number = Number(text)
  if (number < min) throw fault('INTEGER_BELOW', [name, min, number], { param: name })
  if (number > max) throw fault('INTEGER_ABOVE', [name, max, number], { param: name })
  return number
}
/** The order of a list; the latest first by default. */
export const orderIn = (query: URLSearchParams): 'asc' | 'desc' => {
  const order = query.get('order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw fault('LIST_ORDER', [order.slice(0, 100)])
  return order
}
/** One page of a list. `hasMore`: whether others follow. */
export const listPage = <Item extends { readonly id?: Json }>(
  items: readonly Item[],
  hasMore: boolean,
) => ({
  object: 'list',
  data: items,
  first_id: items[0]?.id ?? null,
  last_id: items.at(-1)?.id ?? null,
  has_more: hasMore,
})
