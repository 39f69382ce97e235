/** Views of stored interactions. */
import { writeWithRetry } from '../../ledger/write-with-retry.ts'
import { fault } from '../faults.ts'
import { accountOf, callerOf, idOf, type View } from '../view.ts'
import {
  cancelInteraction,
  deleteInteraction,
  findInteraction,
  readSteps,
} from './interaction-store.ts'

const show: View = async (exchange, { database }) => {
  const { query } = exchange.request
  if (query.get('stream') === 'true') throw fault('INTERACTION_UNSTREAMABLE')
  const id = idOf(exchange)
  const interaction = await findInteraction(database, callerOf(exchange), id)
  const hasInput = query.get('include_input') === 'true'
  const input = hasInput ? { input: await readSteps(database, accountOf(exchange), id) } : {}
  exchange.answer(200, { ...interaction, ...input })
}
const remove: View = async (exchange, { database }) => {
  const [caller, id] = [callerOf(exchange), idOf(exchange)]
  await findInteraction(database, caller, id)
  await writeWithRetry(database, [deleteInteraction(accountOf(exchange), id)])
  exchange.answer(200, {})
}
/** A cancelled interaction may be cancelled again. */
const cancel: View = async (exchange, { database }) => {
  const [caller, id] = [callerOf(exchange), idOf(exchange)]
  const interaction = await findInteraction(database, caller, id)
  if (interaction.status !== 'in_progress' && interaction.status !== 'cancelled')
    throw fault('INTERACTION_UNCANCELLABLE', [id])
  await writeWithRetry(database, [...cancelInteraction(accountOf(exchange), id)])
  exchange.answer(200, await findInteraction(database, caller, id))
}

export const INTERACTIONS: Readonly<Record<string, View>> = {
  'show-interaction': show,
  'delete-interaction': remove,
  'cancel-interaction': cancel,
}
