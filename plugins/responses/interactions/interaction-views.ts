/** Views of stored interactions. */
import { writeWithRetry } from '../../ledger/write-with-retry.ts'
import { fault } from '../faults.ts'
import { idOf, ownerOf, type View } from '../view.ts'
import { deleteInteraction, findInteraction } from './interaction-store.ts'

const show: View = async (exchange, { database }) => {
  const { query } = exchange.request
  if (query.get('stream') === 'true') throw fault('INTERACTION_UNSTREAMABLE')
  const [owner, id] = [ownerOf(exchange), idOf(exchange)]
  const { interaction, input } = await findInteraction(database, owner, id)
  exchange.answer(
    200,
    query.get('include_input') === 'true' ? { ...interaction, input } : interaction,
  )
}
const remove: View = async (exchange, { database }) => {
  const [owner, id] = [ownerOf(exchange), idOf(exchange)]
  await findInteraction(database, owner, id)
  await writeWithRetry(database, [deleteInteraction(Number(owner), id)])
  exchange.answer(200, {})
}
/** Each interaction is finished when its client knows its id. */
const cancel: View = async (exchange, { database }) => {
  const id = idOf(exchange)
  await findInteraction(database, ownerOf(exchange), id)
  throw fault('INTERACTION_UNCANCELLABLE', [id])
}

export const INTERACTIONS: Readonly<Record<string, View>> = {
  'show-interaction': show,
  'delete-interaction': remove,
  'cancel-interaction': cancel,
}
