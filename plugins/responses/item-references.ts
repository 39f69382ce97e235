/** Resolves item references of a request from the stored items that its caller sees. Unknown
 *  references are refused, because an upstream would resolve them among the items of other
 *  customers. */
import type { Database, Json, Row } from '../../engine/plugin.ts'
import { type Caller, type CallerSql, readAs } from '../credentials/members.ts'
import { type Fields, lenientText } from '../formats/fields.ts'
import {
  itemsOf,
  itemsOfExchanges,
  referenceOf,
  type StoredExchange,
} from '../formats/openai-responses/history.ts'
import { TURN } from './conversation-statements.ts'
import { fault } from './faults.ts'
import { listItems } from './listing.ts'
import { MAX_BYTES, MAX_RESPONSES, readInput, responseOf } from './response-store.ts'
import { FIND, FIND_ITEM } from './statements.ts'
import { isId } from './storage-options.ts'

interface ReferencePlace {
  /** The history before the input. */
  readonly context?: readonly StoredExchange[]
  /** The member that has the input. */
  readonly param?: string
}
/** The input with all references resolved; undefined if it has none. */
export const resolveReferences = async (
  database: Pick<Database, 'read'>,
  caller: Caller | undefined,
  input: Json | undefined,
  { context = [], param = 'input' }: ReferencePlace = {},
): Promise<readonly Fields[] | undefined> => {
  const items = itemsOf(input)
  if (items.every(item => referenceOf(item) === undefined)) return undefined
  const historyIds = new Set(itemsOfExchanges(context).map(item => lenientText(item, 'id')))
  const itemsById = new Map<string, Fields>()
  const result: Fields[] = []
  let size = 0
  for (const item of items) {
    const id = referenceOf(item)
    // The history contains the item already.
    if (id !== undefined && historyIds.has(id)) continue
    const target =
      id === undefined ? item : (itemsById.get(id) ?? (await findItem(database, caller, id)))
    if (!target) throw fault('ITEM_MISSING', [id], { param })
    if (id !== undefined) itemsById.set(id, target)
    // A request may refer to one item many times.
    size += JSON.stringify(target).length
    if (size > MAX_BYTES || itemsById.size > MAX_RESPONSES)
      throw fault('CONTEXT_TOO_LONG', [MAX_BYTES, MAX_RESPONSES], { param })
    result.push(target)
  }
  return result
}

/** Ids that listings give items without an id: prefix, response or turn id, and index. */
const GENERATED_ID = /^[a-z]+_(.+)_\d+$/

const findItem = async (
  database: Pick<Database, 'read'>,
  caller: Caller | undefined,
  id: string,
): Promise<Fields | undefined> => {
  if (!caller || !isId(id)) return undefined
  const byId = (items: readonly Fields[]) => items.find(item => item.id === id)
  const now = Date.now()
  const read = (query: CallerSql, name: string) => readAs(database, caller, query, [name, now])
  const [row] = await read(FIND_ITEM, id)
  if (row) return byId(itemsOf(responseOf(row).output))
  const [, owner] = GENERATED_ID.exec(id) ?? []
  if (owner === undefined) return undefined
  const [response] = await read(FIND, owner)
  if (response) return byId(listItems(await readInput(database, caller.id, owner), owner))
  const [turn] = await read(TURN, owner)
  return turn && byId(listItems(valuesIn(turn), owner))
}
const valuesIn = ({ items }: Row): readonly Json[] => JSON.parse(String(items)) as Json[]
