/** The name of this format and the shape of the ids that it writes. */
import { joinText } from '../fields.ts'
import { type IdRule, PORTABLE_ID } from '../hub/call-id.ts'

export const NAME = 'openai-responses'
/** Ids of calls and their results. */
export const CALL_ID: IdRule = PORTABLE_ID

/** `index`: the position of the item in the output. */
export const itemId = (prefix: string, id: string, index: number): string =>
  joinText(prefix, '_', id, '_', String(index))
