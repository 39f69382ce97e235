/** Views of stored responses and their input. */
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { CONVERSATIONS } from './conversations.ts'
import { fault } from './faults.ts'
import { INTERACTIONS } from './interactions/interaction-views.ts'
import { listItems, listOf } from './listing.ts'
import { findResponse, readInput, responseOf } from './response-store.ts'
import { cancelResponse, deleteResponse, forgetCall } from './statements.ts'
import { deleteMessage } from './threads/thread-store.ts'
import { accountOf, callerOf, idOf, type View } from './view.ts'

const show: View = async (exchange, { database }) => {
  if (exchange.request.query.get('stream') === 'true') throw fault('RESPONSE_UNSTREAMABLE')
  exchange.answer(200, responseOf(await findResponse(database, callerOf(exchange), idOf(exchange))))
}
const deleteStored: View = async (exchange, { database }) => {
  const id = idOf(exchange)
  await findResponse(database, callerOf(exchange), id)
  await writeWithRetry(database, [deleteResponse(accountOf(exchange), id, Date.now())])
  exchange.answer(200, { id, object: 'response', deleted: true })
}
/** A finished response stays unchanged. */
const cancel: View = async (exchange, { database }) => {
  const [caller, account, id] = [callerOf(exchange), accountOf(exchange), idOf(exchange)]
  const response = responseOf(await findResponse(database, caller, id))
  if (response.background !== true) throw fault('RESPONSE_UNCANCELLABLE', [id])
  await writeWithRetry(database, [cancelResponse(account, id), forgetCall(account, id)])
  exchange.answer(200, responseOf(await findResponse(database, caller, id)))
}
const input: View = async (exchange, { database }) => {
  const { id, params } = { id: idOf(exchange), params: exchange.request.query }
  const { account } = await findResponse(database, callerOf(exchange), id)
  const items = await readInput(database, Number(account), id)
  exchange.answer(200, listOf(listItems(items, id), params))
}

/** Threads that contain the message cannot be continued after it. */
const deleteThreadMessage: View = async (exchange, { database }) => {
  const id = idOf(exchange)
  await writeWithRetry(database, [await deleteMessage(database, callerOf(exchange), id)])
  exchange.answer(200, { id, type: 'message_deleted' })
}

export const VIEWS: Readonly<Record<string, View>> = {
  show,
  delete: deleteStored,
  cancel,
  input,
  'delete-message': deleteThreadMessage,
  ...CONVERSATIONS,
  ...INTERACTIONS,
}
