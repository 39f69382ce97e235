/** What this format is called, and what the ids it writes look like. */
import { type IdRule, NARROW } from '../call-id.ts'

export const NAME = 'openai-responses'
/** Of calls and of their results. */
export const CALL_ID: IdRule = NARROW

/** The item is the `index`th that this answer began. */
export const itemId = (prefix: string, id: string, index: number): string =>
  `${prefix}_${id}_${index}`
