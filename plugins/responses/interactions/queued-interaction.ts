/** An interaction that runs in the background, as its client and its row have it. */
import type { Exchange, Slot } from '../../../engine/plugin.ts'
import type { Fields } from '../../formats/fields.ts'
import { namesAgent } from '../../formats/hosted-tools.ts'
import { MODEL } from '../../slots.ts'
import type { QueuedAnswer } from '../background-request.ts'
import { fault } from '../faults.ts'
import {
  backgroundRow,
  type InteractionFacts,
  type InteractionStorage,
  rowId,
} from './interaction-store.ts'

export const STORAGE: Slot<InteractionStorage> = { name: 'interaction', keep: true }

/** `body`: the request that its target gets. `steps`: those that are stored. Throws
 *  BACKGROUND_NOBODY. */
export const queuedInteraction = (
  { slots }: Exchange,
  storage: InteractionFacts | false,
  { body, steps }: { readonly body: Fields; readonly steps: readonly Fields[] },
): QueuedAnswer => {
  if (!storage) throw fault('BACKGROUND_NOBODY')
  const { id, created, previous } = storage
  const time = new Date(created).toISOString()
  return {
    id: rowId(id),
    storage: backgroundRow(storage),
    answer: {
      id,
      object: 'interaction',
      [namesAgent(body) ? 'agent' : 'model']: slots.get(MODEL)?.asked ?? '',
      status: 'in_progress',
      created: time,
      updated: time,
      ...(previous !== undefined && { previous_interaction_id: previous }),
    },
    body,
    input: steps,
    slot: STORAGE.name,
    slotValue: { ...storage, background: true },
    failure: 'errors',
  }
}
