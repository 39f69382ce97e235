/** Checks items that a client adds to a conversation: an item that no request can use would make
 *  every later response of the conversation fail. */
import { type Fields, lenientText } from '../formats/fields.ts'
import { mediaIn } from '../formats/hub/prompt-media.ts'
import { checkInlineMedia } from '../formats/media/inline-media.ts'
import { readItems } from '../formats/openai-responses/decode-messages.ts'
import { fault } from './faults.ts'

/** `earlier`: the items of the conversation so far. Throws a fault that names the member. */
export const checkItems = (earlier: readonly Fields[], items: readonly Fields[]): void => {
  checkInlineMedia(mediaIn({ turns: readItems(items, 'items') }))
  const calls = new Set(earlier.map(callOf))
  for (const [index, item] of items.entries()) {
    const id = lenientText(item, 'call_id')
    const isUnknown = id !== undefined && isResult(item) && !calls.has(id)
    const param = `items[${index}].call_id`
    if (isUnknown) throw fault('ITEM_ORPHAN', [id], { param })
    calls.add(callOf(item))
  }
}
const isResult = (item: Fields): boolean => lenientText(item, 'type')?.endsWith('_output') === true
const callOf = (item: Fields): string | undefined =>
  isResult(item) ? undefined : lenientText(item, 'call_id')
