/** The name of this format, and its tool names. */
import { GOOGLE } from '../google/origin.ts'
import type { ToolNameRule } from '../hub/codec.ts'
import { FREE_PREFIX } from '../hub/free-tools.ts'

export { decodeToolName, encodeToolName } from '../hub/free-tools.ts'

/** The origin of its payloads, files and foreign tools. */
export const NAME = GOOGLE

/** A signature that Google accepts in place of a missing one. */
export const PLACEHOLDER_SIGNATURE = 'skip_thought_signature_validator'

/** The provider accepts 128 characters, the first of them a letter or `_`. */
export const NAME_RULE: ToolNameRule = {
  invalid: /^[^A-Za-z_]|[^A-Za-z0-9_.:-]/g,
  maxLength: 128 - FREE_PREFIX.length,
}
