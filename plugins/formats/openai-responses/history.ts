/** What was said before, put in front of what is said now: for whoever keeps the answers of this format. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, wordIn } from '../fields.ts'

/** One exchange that was kept. */
export interface Kept {
  readonly input: Json | undefined
  readonly output: readonly Fields[]
}

/** An input as the list of its items. */
export const itemsOf = (input: Json | undefined): readonly Fields[] => {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }]
  return Array.isArray(input) ? input.filter(isFields) : []
}

/** Everything that was said, in order. */
export const saidIn = (earlier: readonly Kept[]): readonly Fields[] =>
  earlier.flatMap(({ input, output }) => [...itemsOf(input), ...output])

/** The request as if its client had sent all of the conversation. Instructions of earlier requests are not among it. */
export const continued = (body: Fields, earlier: readonly Kept[]): Fields => {
  const { previous_response_id: _, conversation: __, ...rest } = body
  return { ...rest, input: [...saidIn(earlier), ...itemsOf(body.input)] }
}

/** The id of what an item only refers to. */
export const referenceOf = (item: Fields): string | undefined => {
  const { type = null, role } = item
  const refers = type === 'item_reference' || (type === null && role === undefined)
  return refers ? wordIn(item, 'id') : undefined
}
