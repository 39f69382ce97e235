/** The name of this format, and its tool names. */
import { GOOGLE } from '../google/origin.ts'
import type { ToolNameRule } from '../hub/codec.ts'
import type { Call } from '../hub/content.ts'

/** The origin of its payloads, files and foreign tools. */
export const NAME = GOOGLE

/** A signature that Google accepts in place of a missing one. */
export const PLACEHOLDER_SIGNATURE = 'skip_thought_signature_validator'

/** A tool with free text input becomes a function with one argument; the prefix marks it for the
 *  decoder. */
const FREE_PREFIX = 'tollgate_text_'
/** The provider accepts 128 characters, the first of them a letter or `_`. */
export const NAME_RULE: ToolNameRule = {
  invalid: /^[^A-Za-z_]|[^A-Za-z0-9_.:-]/g,
  maxLength: 128 - FREE_PREFIX.length,
}
export const encodeToolName = ({ name, isFreeText }: Pick<Call, 'name' | 'isFreeText'>): string =>
  isFreeText ? FREE_PREFIX + name : name
export const decodeToolName = (name: string): Pick<Call, 'name' | 'isFreeText'> =>
  name.startsWith(FREE_PREFIX)
    ? { name: name.slice(FREE_PREFIX.length), isFreeText: true }
    : { name }
