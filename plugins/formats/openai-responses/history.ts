/** Prepends an earlier conversation to a request, for the response store. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, lenientText } from '../fields.ts'

/** An exchange from the store. */
export interface StoredExchange {
  readonly input: Json | undefined
  readonly output: readonly Fields[]
}

/** An input as a list of items. */
export const itemsOf = (input: Json | undefined): readonly Fields[] => {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }]
  return Array.isArray(input) ? input.filter(isFields) : []
}

/** All items of the earlier exchanges, in order. */
export const itemsOfExchanges = (earlier: readonly StoredExchange[]): readonly Fields[] =>
  earlier.flatMap(({ input, output }) => [...itemsOf(input), ...output])

/** The request as if the client had sent the whole conversation. Instructions of earlier requests
 *  are not included. */
export const prependHistory = (body: Fields, earlier: readonly StoredExchange[]): Fields => {
  const { previous_response_id: _, conversation: __, ...rest } = body
  return { ...rest, input: [...itemsOfExchanges(earlier), ...itemsOf(body.input)] }
}

/** The id in an item that is only a reference. */
export const referenceOf = (item: Fields): string | undefined => {
  const { type = null, role } = item
  const refers = type === 'item_reference' || (type === null && role === undefined)
  return refers ? lenientText(item, 'id') : undefined
}
