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

/** The request as if its client had sent all of the conversation. Instructions of earlier requests are not among it. What
 *  an item only refers to is put in its place, as far as it was kept; the rest is refused by whoever reads the request. */
export const continued = (body: Fields, earlier: readonly Kept[]): Fields => {
  const { previous_response_id: _, conversation: __, ...rest } = body
  const before = earlier.flatMap(({ input, output }) => [...itemsOf(input), ...output])
  const known = new Map(before.map(item => [wordIn(item, 'id'), item]))
  const now = itemsOf(body.input).flatMap(item => {
    if (item.type !== 'item_reference') return [item]
    const meant = known.get(wordIn(item, 'id'))
    // It is there already, where it was said.
    return meant ? [] : [item]
  })
  return { ...rest, input: [...before, ...now] }
}
