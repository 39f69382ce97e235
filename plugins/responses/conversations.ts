/** Conversations and their items, asked for by their ids. */
import { isCode } from '../../engine/kit.ts'
import type { Database, Exchange, Json, Row } from '../../engine/plugin.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import { itemsOf } from '../formats/openai-responses/history.ts'
import { writeSurely } from '../ledger/surely.ts'
import {
  addTurn,
  changeTurn,
  describeConversation,
  forgetConversation,
  openConversation,
} from './conversation-statements.ts'
import { fault } from './faults.ts'
import type { Limits } from './keeping.ts'
import { listed, listOf, pageOf, shown } from './listing.ts'
import { findConversation, turnRows } from './shelf.ts'
import { idOf, ownerOf, type View } from './view.ts'

/** Others may change the same turn meanwhile. */
const TRIES = 10

const open: View = async (exchange, { database, limits }) => {
  const { items, metadata = {} } = await bodyOf(exchange)
  const account = ownerOf(exchange)
  if (account === undefined) throw fault('CONVERSATION_UNKNOWN', [''])
  const [created, name] = [Date.now(), nameOf(exchange)]
  const conversation = { account, id: `conv_${name}`, created, expires: created + limits.kept }
  const turn = { id: name, created, items: textOf(items, limits) }
  await writeSurely(database, [
    openConversation({ ...conversation, metadata: JSON.stringify(metadata ?? {}) }),
    ...(itemsOf(items).length > 0 ? addTurn(conversation, turn) : []),
  ])
  exchange.answer(200, told(conversation.id, created, metadata ?? {}))
}
const show: View = async (exchange, { database }) => {
  exchange.answer(200, toldOf(await conversationOf(exchange, database)))
}
const update: View = async (exchange, { database }) => {
  const { metadata } = await bodyOf(exchange)
  const row = await conversationOf(exchange, database)
  const text = JSON.stringify(metadata ?? {})
  await writeSurely(database, [
    describeConversation(Number(ownerOf(exchange)), idOf(exchange), text),
  ])
  exchange.answer(200, toldOf({ ...row, metadata: text }))
}
const forget: View = async (exchange, { database }) => {
  await conversationOf(exchange, database)
  const id = idOf(exchange)
  await writeSurely(database, forgetConversation(Number(ownerOf(exchange)), id, Date.now()))
  exchange.answer(200, { id, object: 'conversation.deleted', deleted: true })
}

// ---------------------------------------------------------------- items

const items: View = async (exchange, { database }) => {
  const turns = await turnsOf(exchange, database)
  exchange.answer(200, listOf(turns.flatMap(itemsIn), exchange.request.query))
}
const add: View = async (exchange, { database, limits }) => {
  const { items } = await bodyOf(exchange)
  await conversationOf(exchange, database)
  const [created, name] = [Date.now(), nameOf(exchange)]
  const of = {
    account: Number(ownerOf(exchange)),
    id: idOf(exchange),
    expires: created + limits.kept,
  }
  await writeSurely(database, [...addTurn(of, { id: name, created, items: textOf(items, limits) })])
  exchange.answer(200, pageOf(listed(itemsOf(items), name)))
}
const showItem: View = async (exchange, { database }) => {
  exchange.answer(200, findItem(exchange, await turnsOf(exchange, database)).item)
}
/** Its place stays empty: the other items of its turn are named by theirs. */
const forgetItem: View = async (exchange, { database }) => {
  const conversation = await conversationOf(exchange, database)
  const of = { account: Number(ownerOf(exchange)), id: idOf(exchange) }
  for (let tries = 0; tries < TRIES; tries++) {
    const { turn, at } = findItem(exchange, await turnsOf(exchange, database))
    const rest = valuesIn(turn).map((value, place) => (place === at ? null : value))
    try {
      await writeSurely(database, [changeTurn(of, keyOf(turn), JSON.stringify(rest))])
      return void exchange.answer(200, toldOf(conversation))
    } catch (thrown) {
      if (!isCode(thrown, 'TURN_CHANGED')) throw thrown
    }
  }
  throw fault('ITEM_CONTESTED', [exchange.params.item ?? ''])
}
/** The newest of that name, with the turn it was said in and its place there. */
const findItem = (exchange: Exchange, turns: readonly Row[]) => {
  const wanted = exchange.params.item ?? ''
  for (const turn of turns.toReversed())
    for (const [at, value] of valuesIn(turn).entries()) {
      const item = isFields(value) ? shown(value, `${turn.id}_${at}`) : undefined
      if (item?.id === wanted) return { turn, at, item }
    }
  throw fault('ITEM_NOT_HERE', [wanted, idOf(exchange)])
}
const itemsIn = (turn: Row): readonly Fields[] => listed(valuesIn(turn), String(turn.id))
const valuesIn = ({ items }: Row): readonly Json[] => JSON.parse(String(items)) as Json[]
const keyOf = ({ id, created, items }: Row) => ({
  ...{ id: String(id), created: Number(created), items: String(items) },
})

// ---------------------------------------------------------------- what they share

const turnsOf = async (exchange: Exchange, database: Database): Promise<readonly Row[]> => {
  await conversationOf(exchange, database)
  return turnRows(database, Number(ownerOf(exchange)), idOf(exchange))
}
const conversationOf = async (exchange: Exchange, database: Database): Promise<Row> => {
  const row = await findConversation(database, ownerOf(exchange), idOf(exchange))
  if (!row) throw fault('CONVERSATION_UNKNOWN', [idOf(exchange)])
  return row
}
const bodyOf = async ({ request }: Exchange): Promise<Fields> => {
  const body = await request.json()
  return isFields(body) ? body : {}
}
const textOf = (items: Json | undefined, { largest }: Limits): string => {
  const text = JSON.stringify(itemsOf(items))
  if (text.length > largest) throw fault('ITEMS_TOO_LARGE', [largest])
  return text
}
const nameOf = ({ id }: Exchange): string => id.replace(/^req_/, '')
const toldOf = ({ id, created, metadata }: Row): Fields =>
  told(String(id), Number(created), JSON.parse(String(metadata)) as Json)
const told = (id: string, created: number, metadata: Json): Fields => ({
  ...{ id, object: 'conversation', created_at: Math.floor(created / 1_000), metadata },
})

export const CONVERSATIONS: Readonly<Record<string, View>> = {
  'create-conversation': open,
  'show-conversation': show,
  'update-conversation': update,
  'delete-conversation': forget,
  'conversation-items': items,
  'create-items': add,
  'show-item': showItem,
  'delete-item': forgetItem,
}
