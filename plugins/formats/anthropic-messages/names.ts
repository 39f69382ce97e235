/** Tool names of this format. */
import type { ToolNameRule } from '../hub/codec.ts'
import { FREE_PREFIX } from '../hub/free-tools.ts'

export { encodeToolName as callName } from '../hub/free-tools.ts'

/** The provider accepts 128 characters. */
export const NAME_RULE: ToolNameRule = {
  invalid: /[^A-Za-z0-9_-]/g,
  maxLength: 128 - FREE_PREFIX.length,
}

export const encodeFreeToolName = (name: string): string => FREE_PREFIX + name
/** Undefined for the name of a function. */
export const freeToolName = (name: string): string | undefined =>
  name.startsWith(FREE_PREFIX) ? name.slice(FREE_PREFIX.length) : undefined
