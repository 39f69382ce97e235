/** Converts tool names to the limits of this format. */
import { decodeCallId, encodeCallId, PORTABLE_ID } from '../hub/call-id.ts'
import type { Call } from '../hub/content.ts'

const VALID_NAME = /^[A-Za-z0-9_-]{1,128}$/

export const encodeToolName = (name: string): string =>
  VALID_NAME.test(name) ? name : encodeCallId(name, PORTABLE_ID)

export const decodeToolName = decodeCallId

/** A tool with free text input becomes a function with one argument; the prefix marks it for the
 *  decoder. */
const FREE_PREFIX = 'tollgate_text_'
export const encodeFreeToolName = (name: string): string => FREE_PREFIX + encodeToolName(name)
export const callName = ({ name, isFreeText }: Pick<Call, 'name' | 'isFreeText'>): string =>
  isFreeText ? encodeFreeToolName(name) : encodeToolName(name)
/** Undefined for the name of a function. */
export const freeToolName = (name: string): string | undefined =>
  name.startsWith(FREE_PREFIX) ? decodeToolName(name.slice(FREE_PREFIX.length)) : undefined
