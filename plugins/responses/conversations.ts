/** Views of conversations and their items. */
import { isCode } from '../../engine/kit.ts'
import type { Database, Exchange, Json, Row } from '../../engine/plugin.ts'
import { listPage } from '../dialects/openai-query.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import { itemsOf } from '../formats/openai-responses/history.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { Undo } from '../undo/undo.ts'
import { checkItems } from './check-items.ts'
import {
  addTurn,
  changeTurn,
  deleteConversation,
  openConversation,
  updateMetadata,
  withdrawConversation,
  withdrawTurn,
} from './conversation-statements.ts'
import { fault } from './faults.ts'
import { resolveReferences } from './item-references.ts'
import { listItem, listItems, listOf } from './listing.ts'
import { findConversation, readTurnRows } from './response-store.ts'
import type { StorageLimits } from './storage-options.ts'
import { accountOf, callerOf, idOf, ownerIn, stampOf, type View } from './view.ts'

/** Attempts to change a turn that other requests change at the same time. */
const MAX_ATTEMPTS = 10

const createView: View = async (exchange, { database, limits }) => {
  const { items: givenItems, metadata = {} } = await bodyOf(exchange)
  const owner = ownerIn(exchange)
  if (!owner) throw fault('CONVERSATION_UNKNOWN', [''])
  const items = await usableItems(exchange, database, givenItems)
  const { created, name } = stampOf(exchange)
  const conversation = {
    ...owner,
    id: `conv_${name}`,
    created,
    expires: created + limits.lifetime,
  }
  const turn = { id: name, created, items: encodeItems(items, limits) }
  Undo.of(exchange).add({ undo: withdrawConversation(owner.account, conversation.id) })
  exchange.writes.add(
    openConversation({ ...conversation, metadata: JSON.stringify(metadata ?? {}) }),
    ...(items.length > 0 ? addTurn(conversation, turn) : []),
  )
  exchange.answer(200, conversationObject(conversation.id, created, metadata ?? {}))
}
const showView: View = async (exchange, { database }) => {
  exchange.answer(200, objectOfRow(await requireConversation(exchange, database)))
}
const updateView: View = async (exchange, { database }) => {
  const { metadata } = await bodyOf(exchange)
  const row = await requireConversation(exchange, database)
  const text = JSON.stringify(metadata ?? {})
  await writeWithRetry(database, [updateMetadata(accountOf(exchange), idOf(exchange), text)])
  exchange.answer(200, objectOfRow({ ...row, metadata: text }))
}
const deleteView: View = async (exchange, { database }) => {
  await requireConversation(exchange, database)
  const id = idOf(exchange)
  await writeWithRetry(database, deleteConversation(accountOf(exchange), id, Date.now()))
  exchange.answer(200, { id, object: 'conversation.deleted', deleted: true })
}

// ---------------------------------------------------------------- items

const listItemsView: View = async (exchange, { database }) => {
  const turns = await requireTurns(exchange, database)
  exchange.answer(200, listOf(turns.flatMap(listedItems), exchange.request.query))
}
const createItemsView: View = async (exchange, { database, limits }) => {
  const body = await bodyOf(exchange)
  const turns = await requireTurns(exchange, database)
  const earlier = turns.flatMap(turn => itemsOf([...parseItems(turn)]))
  const items = await usableItems(exchange, database, body.items, earlier)
  const { created, name } = stampOf(exchange)
  const conversation = {
    account: accountOf(exchange),
    id: idOf(exchange),
    expires: created + limits.lifetime,
  }
  Undo.of(exchange).add({ undo: [withdrawTurn(conversation.account, conversation.id, name)] })
  exchange.writes.add(
    ...addTurn(conversation, { id: name, created, items: encodeItems(items, limits) }),
  )
  exchange.answer(200, listPage(listItems(items, name), false))
}
const showItem: View = async (exchange, { database }) => {
  exchange.answer(200, findItem(exchange, await requireTurns(exchange, database)).item)
}
/** Leaves null at the index of the item, since ids of other items of the turn contain an index. */
const deleteItemView: View = async (exchange, { database }) => {
  const conversation = await requireConversation(exchange, database)
  const key = { account: accountOf(exchange), id: idOf(exchange) }
  for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
    const { turn, at: index } = findItem(exchange, await requireTurns(exchange, database))
    const rest = parseItems(turn).map((value, place) => (place === index ? null : value))
    try {
      await writeWithRetry(database, [changeTurn(key, keyOf(turn), JSON.stringify(rest))])
      return void exchange.answer(200, objectOfRow(conversation))
    } catch (error) {
      if (!isCode(error, 'TURN_CHANGED')) throw error
    }
  }
  throw fault('ITEM_CONTESTED', [exchange.params.item ?? ''])
}
/** The newest item with that id, its turn, and its index in the turn. */
const findItem = (exchange: Exchange, turns: readonly Row[]) => {
  const itemId = exchange.params.item ?? ''
  for (const turn of turns.toReversed())
    for (const [at, value] of parseItems(turn).entries()) {
      const item = isFields(value) ? listItem(value, `${turn.id}_${at}`) : undefined
      if (item?.id === itemId) return { turn, at, item }
    }
  throw fault('ITEM_NOT_HERE', [itemId, idOf(exchange)])
}
const listedItems = (turn: Row): readonly Fields[] => listItems(parseItems(turn), String(turn.id))
const parseItems = ({ items }: Row): readonly Json[] => JSON.parse(String(items)) as Json[]
const keyOf = ({ id, created, items }: Row) => ({
  id: String(id),
  created: Number(created),
  items: String(items),
})

// ---------------------------------------------------------------- shared by all views

const requireTurns = async (exchange: Exchange, database: Database): Promise<readonly Row[]> => {
  await requireConversation(exchange, database)
  return readTurnRows(database, accountOf(exchange), idOf(exchange))
}
const requireConversation = async (exchange: Exchange, database: Database): Promise<Row> => {
  const row = await findConversation(database, callerOf(exchange), idOf(exchange))
  if (!row) throw fault('CONVERSATION_UNKNOWN', [idOf(exchange)])
  return row
}
const bodyOf = async ({ request }: Exchange): Promise<Fields> => {
  const body = await request.json()
  return isFields(body) ? body : {}
}
/** The items, with those in place of references to them. Throws for an item that no request can
 *  use. */
const usableItems = async (
  exchange: Exchange,
  database: Database,
  value: Json | undefined,
  earlier: readonly Fields[] = [],
): Promise<readonly Fields[]> => {
  const items =
    (await resolveReferences(database, callerOf(exchange), value, { param: 'items' })) ??
    itemsOf(value)
  checkItems(earlier, items)
  return items
}
const encodeItems = (items: readonly Fields[], { largest }: StorageLimits): string => {
  const text = JSON.stringify(items)
  if (text.length > largest) throw fault('ITEMS_TOO_LARGE', [largest])
  return text
}
const objectOfRow = ({ id, created, metadata }: Row): Fields =>
  conversationObject(String(id), Number(created), JSON.parse(String(metadata)) as Json)
const conversationObject = (id: string, created: number, metadata: Json): Fields => ({
  id,
  object: 'conversation',
  created_at: Math.floor(created / 1_000),
  metadata,
})

export const CONVERSATIONS: Readonly<Record<string, View>> = {
  'create-conversation': createView,
  'show-conversation': showView,
  'update-conversation': updateView,
  'delete-conversation': deleteView,
  'conversation-items': listItemsView,
  'create-items': createItemsView,
  'show-item': showItem,
  'delete-item': deleteItemView,
}
