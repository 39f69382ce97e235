/** Notes when the first content of an answer has passed all guards: the charge of an answer that is
 *  blocked later depends on it. */
import type { Exchange } from '../../engine/plugin.ts'
import type { Part } from '../formats/hub/answer.ts'
import { PARTS } from '../formats/hub/slots.ts'
import { CONTENT_PASSED } from '../slots.ts'

/** Call it after all guards listen to the answer. */
export const noteContent = ({ slots }: Pick<Exchange, 'slots'>): void =>
  slots.need(PARTS).watch(part => {
    if (hasContent(part)) slots.set(CONTENT_PASSED, true)
  })

/** Blocks of text open before their first text is known. */
const hasContent = (part: Part): boolean => {
  if (part.type === 'grow') return part.text !== ''
  if (part.type !== 'open') return false
  return 'text' in part.content ? part.content.text !== '' : true
}
