/** The name of this format, and its tool names. */
import type { ToolNameRule } from '../hub/codec.ts'
import type { Call } from '../hub/content.ts'

/** The origin of its payloads. */
export const NAME = 'bedrock-converse'

/** A tool with free text input becomes a function with one argument; the prefix marks it for the
 *  decoder. */
const FREE_PREFIX = 'tollgate_text_'
/** The provider accepts 64 characters. */
export const NAME_RULE: ToolNameRule = {
  invalid: /[^A-Za-z0-9_-]/g,
  maxLength: 64 - FREE_PREFIX.length,
}
export const encodeToolName = ({ name, isFreeText }: Pick<Call, 'name' | 'isFreeText'>): string =>
  isFreeText ? FREE_PREFIX + name : name
export const decodeToolName = (name: string): Pick<Call, 'name' | 'isFreeText'> =>
  name.startsWith(FREE_PREFIX)
    ? { name: name.slice(FREE_PREFIX.length), isFreeText: true }
    : { name }
