/** Tool names of this format. */
import type { ToolNameRule } from '../hub/codec.ts'
import type { Call } from '../hub/content.ts'

/** A tool with free text input becomes a function with one argument; the prefix marks it for the
 *  decoder. */
const FREE_PREFIX = 'tollgate_text_'
/** The provider accepts 128 characters. */
export const NAME_RULE: ToolNameRule = {
  invalid: /[^A-Za-z0-9_-]/g,
  maxLength: 128 - FREE_PREFIX.length,
}

export const encodeFreeToolName = (name: string): string => FREE_PREFIX + name
export const callName = ({ name, isFreeText }: Pick<Call, 'name' | 'isFreeText'>): string =>
  isFreeText ? encodeFreeToolName(name) : name
/** Undefined for the name of a function. */
export const freeToolName = (name: string): string | undefined =>
  name.startsWith(FREE_PREFIX) ? name.slice(FREE_PREFIX.length) : undefined
