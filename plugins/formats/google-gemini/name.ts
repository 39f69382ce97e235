/** The name of this format, and tool names within its limits. */
import { decodeCallId, encodeCallId, type IdRule } from '../hub/call-id.ts'
import type { Call } from '../hub/content.ts'

/** The origin of its payloads, files and foreign tools. */
export const NAME = 'google-gemini'

/** A signature that Google accepts in place of a missing one. */
export const PLACEHOLDER_SIGNATURE = 'skip_thought_signature_validator'

const NAME_RULE: IdRule = { pattern: /^[A-Za-z_][A-Za-z0-9_.:-]*$/, maxLength: 128 }

/** A tool with free text input becomes a function with one argument; the prefix marks it for the
 *  decoder. */
const FREE_PREFIX = 'tollgate_text_'
export const encodeToolName = ({ name, isFreeText }: Pick<Call, 'name' | 'isFreeText'>): string =>
  isFreeText ? FREE_PREFIX + encodeCallId(name, NAME_RULE) : encodeCallId(name, NAME_RULE)
export const decodeToolName = (name: string): Pick<Call, 'name' | 'isFreeText'> =>
  name.startsWith(FREE_PREFIX)
    ? { name: decodeCallId(name.slice(FREE_PREFIX.length)), isFreeText: true }
    : { name: decodeCallId(name) }
