/** Lists in the paging format of OpenAI's clients. Pure. */
import type { Json } from '../../engine/plugin.ts'
import { listPage } from '../dialects/openai-query.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import { fault } from './faults.ts'

const MAX_LIMIT = 100
const DEFAULT_LIMIT = 20

/** The page that a query selects. `after`: the id of the last item of the page before. Default
 *  order: newest first. */
export const listOf = (items: readonly Fields[], query: URLSearchParams): Fields => {
  const order = query.get('order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw fault('LIST_ORDER')
  const limit = limitOf(query.get('limit'))
  const orderedItems = order === 'asc' ? items : items.toReversed()
  const after = query.get('after')
  const from = after === null ? 0 : orderedItems.findIndex(({ id }) => id === after) + 1
  if (after !== null && from === 0) throw fault('LIST_AFTER', [after])
  const page = orderedItems.slice(from, from + limit)
  return listPage(page, from + page.length < orderedItems.length)
}
const limitOf = (text: string | null): number => {
  if (text === null) return DEFAULT_LIMIT
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > MAX_LIMIT) throw fault('LIST_LIMIT')
  return limit
}

/** Items in list form: each with an id, a type, and its content in parts. `owner`: response or turn
 *  id, a part of generated ids. Skips null, the mark of a deleted item: indexes stay valid. */
export const listItems = (items: readonly Json[], owner: string): readonly Fields[] =>
  items.flatMap((item, at) => (isFields(item) ? [listItem(item, `${owner}_${at}`)] : []))
/** `name`: the end of the generated id of an item without an id. */
export const listItem = (item: Fields, name: string): Fields => {
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
