/** What the hub calls this format, and names of tools within its limits. */
import { fitted, type IdRule, original } from '../call-id.ts'
import type { Call } from '../content.ts'

/** The origin of its seals, its files and its own tools. */
export const NAME = 'google-gemini'

/** Stands where a signature must stand and none is: Google lets it pass. */
export const PLACEHOLDER = 'skip_thought_signature_validator'

const RULE: IdRule = { allowed: /^[A-Za-z_][A-Za-z0-9_.:-]*$/, longest: 128 }

/** A tool that is called with plain text is a function with one argument here; its name tells the reader of the call. */
const FREE = 'tollgate_text_'
export const toolName = ({ name, free }: Pick<Call, 'name' | 'free'>): string =>
  free ? FREE + fitted(name, RULE) : fitted(name, RULE)
export const toolOf = (name: string): Pick<Call, 'name' | 'free'> =>
  name.startsWith(FREE)
    ? { name: original(name.slice(FREE.length)), free: true }
    : { name: original(name) }
