/** The name of this format, and its tool names. */
import type { ToolNameRule } from '../hub/codec.ts'
import { FREE_PREFIX } from '../hub/free-tools.ts'

export { decodeToolName, encodeToolName } from '../hub/free-tools.ts'

/** The origin of its payloads. */
export const NAME = 'bedrock-converse'

/** The provider accepts 64 characters. */
export const NAME_RULE: ToolNameRule = {
  invalid: /[^A-Za-z0-9_-]/g,
  maxLength: 64 - FREE_PREFIX.length,
}
