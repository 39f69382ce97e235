/** What is kept, asked for by its id: responses, their input, and conversations. */
import type { Database, Exchange, Json } from '../../engine/plugin.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import { itemsOf } from '../formats/openai-responses/history.ts'
import { writeSurely } from '../ledger/surely.ts'
import { ACCOUNT } from '../slots.ts'
import { addTurn, forgetConversation, openConversation } from './conversation-statements.ts'
import { fault } from './faults.ts'
import type { Limits } from './keeping.ts'
import { listed, listOf } from './listing.ts'
import { findConversation, findResponse, inputOf, toldOf, turnsOf } from './shelf.ts'
import { cancelResponse, forgetResponse } from './statements.ts'

/** What a view stands on. */
interface Ground {
  readonly database: Database
  readonly limits: Limits
}
type View = (exchange: Exchange, ground: Ground) => Promise<void>

const show: View = async (exchange, { database }) => {
  if (exchange.request.query.get('stream') === 'true') throw fault('RESPONSE_UNSTREAMABLE')
  exchange.answer(200, toldOf(await findResponse(database, ownerOf(exchange), idOf(exchange))))
}
const forget: View = async (exchange, { database }) => {
  const id = idOf(exchange)
  await findResponse(database, ownerOf(exchange), id)
  await writeSurely(database, [forgetResponse(Number(ownerOf(exchange)), id, Date.now())])
  exchange.answer(200, { id, object: 'response', deleted: true })
}
/** One that is finished stays as it is. */
const cancel: View = async (exchange, { database }) => {
  const [owner, id] = [ownerOf(exchange), idOf(exchange)]
  const response = toldOf(await findResponse(database, owner, id))
  if (response.background !== true) throw fault('RESPONSE_UNCANCELLABLE', [id])
  await writeSurely(database, [cancelResponse(Number(owner), id)])
  exchange.answer(200, toldOf(await findResponse(database, owner, id)))
}
const input: View = async (exchange, { database }) => {
  const { id, params } = { id: idOf(exchange), params: exchange.request.query }
  const row = await findResponse(database, ownerOf(exchange), id)
  exchange.answer(200, listOf(listed(inputOf(row), id), params))
}

// ---------------------------------------------------------------- conversations

const open: View = async (exchange, { database, limits }) => {
  const body = await exchange.request.json()
  const { items = [], metadata } = isFields(body) ? body : {}
  const account = ownerOf(exchange)
  if (account === undefined) throw fault('CONVERSATION_UNKNOWN', [''])
  const [created, name] = [Date.now(), exchange.id.replace(/^req_/, '')]
  const conversation = { account, id: `conv_${name}`, created, expires: created + limits.kept }
  const said = itemsOf(items)
  const turn = { id: name, created, items: JSON.stringify(said) }
  await writeSurely(database, [
    openConversation({ ...conversation, metadata: JSON.stringify(metadata ?? {}) }),
    ...(said.length > 0 ? addTurn(conversation, turn) : []),
  ])
  exchange.answer(200, told(conversation.id, created, metadata ?? {}))
}
const showConversation: View = async (exchange, { database }) => {
  const { id, created, metadata } = await conversationOf(exchange, database)
  exchange.answer(200, told(String(id), Number(created), JSON.parse(String(metadata)) as Json))
}
const told = (id: string, created: number, metadata: Json): Fields => ({
  ...{ id, object: 'conversation', created_at: Math.floor(created / 1_000), metadata },
})
const forgetIt: View = async (exchange, { database }) => {
  await conversationOf(exchange, database)
  const id = idOf(exchange)
  await writeSurely(database, forgetConversation(Number(ownerOf(exchange)), id, Date.now()))
  exchange.answer(200, { id, object: 'conversation.deleted', deleted: true })
}
const items: View = async (exchange, { database }) => {
  await conversationOf(exchange, database)
  const id = idOf(exchange)
  const turns = await turnsOf(database, Number(ownerOf(exchange)), id)
  const said = turns.flatMap(turn => itemsOf(turn.input))
  exchange.answer(200, listOf(listed(said, id), exchange.request.query))
}
const conversationOf = async (exchange: Exchange, database: Database) => {
  const row = await findConversation(database, ownerOf(exchange), idOf(exchange))
  if (!row) throw fault('CONVERSATION_UNKNOWN', [idOf(exchange)])
  return row
}

const ownerOf = ({ slots }: Exchange): number | undefined => slots.get(ACCOUNT)?.id
const idOf = ({ params }: Exchange): string => params.id ?? ''

export const VIEWS: Readonly<Record<string, View>> = {
  show,
  delete: forget,
  cancel,
  input,
  'create-conversation': open,
  'show-conversation': showConversation,
  'delete-conversation': forgetIt,
  'conversation-items': items,
}
