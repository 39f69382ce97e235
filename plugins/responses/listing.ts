/** Lists as OpenAI's clients page through them. Pure. */
import type { Json } from '../../engine/plugin.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import { fault } from './faults.ts'

const MOST = 100
const USUAL = 20

/** All of them, on one page. */
export const pageOf = (items: readonly Fields[], has_more = false): Fields => {
  const [first_id, last_id] = [items[0]?.id ?? null, items.at(-1)?.id ?? null]
  return { object: 'list', data: items, first_id, last_id, has_more }
}
/** `after`: the id of the last item that was seen. The newest come first, where nothing is said. */
export const listOf = (items: readonly Fields[], query: URLSearchParams): Fields => {
  const order = query.get('order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw fault('LIST_ORDER')
  const limit = limitOf(query.get('limit'))
  const ordered = order === 'asc' ? items : items.toReversed()
  const after = query.get('after')
  const from = after === null ? 0 : ordered.findIndex(({ id }) => id === after) + 1
  if (after !== null && from === 0) throw fault('LIST_AFTER', [after])
  const page = ordered.slice(from, from + limit)
  return pageOf(page, from + page.length < ordered.length)
}
const limitOf = (text: string | null): number => {
  if (text === null) return USUAL
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > MOST) throw fault('LIST_LIMIT')
  return limit
}

/** Items as they are listed: each with an id, a type, and its content in parts. `owner`: what makes ids its own. Of an item
 *  that was deleted the place stays, since others are named by theirs. */
export const listed = (items: readonly Json[], owner: string): readonly Fields[] =>
  items.flatMap((item, at) => (isFields(item) ? [shown(item, `${owner}_${at}`)] : []))
/** `name`: what its id ends in, where it has none. */
export const shown = (item: Fields, name: string): Fields => {
  const { type = 'message', id = `${prefixOf(type)}_${name}` } = item
  if (type !== 'message') return { ...item, type, id }
  const { content = '', role = 'user', status = 'completed' } = item
  return { ...item, type, id, role, status, content: partsOf(content, role) }
}
const prefixOf = (type: Json): string => PREFIXES[String(type)] ?? 'item'
const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg',
  function_call: 'fc',
  function_call_output: 'fco',
  reasoning: 'rs',
}
const partsOf = (content: Json, role: Json): Json =>
  typeof content !== 'string'
    ? content
    : role === 'assistant'
      ? [{ type: 'output_text', text: content, annotations: [] }]
      : [{ type: 'input_text', text: content }]
