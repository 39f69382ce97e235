/** Names of plain settings. */
import { shorten } from '../end-user.ts'
import type { Settings } from '../hub/prompt.ts'

/** Hub name -> field of the body. */
export const MEMBERS = {
  limit: 'max_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  stops: 'stop_sequences',
} as const satisfies Partial<Record<keyof Settings, string>>

/** The names that clients of this format use; some are nested in other fields. */
export const SETTINGS: Readonly<Record<string, string>> = {
  ...MEMBERS,
  user: 'metadata.user_id',
  tier: 'service_tier',
  turns: 'messages',
  parallel: 'tool_choice.disable_parallel_tool_use',
  thinking: 'thinking',
  form: 'output_config.format',
  choice: 'tool_choice',
  filename: 'title',
}

/** Service tiers with another name in this format. */
export const TIERS: readonly (readonly [hub: string, own: string])[] = [
  ['auto', 'auto'],
  ['default', 'standard_only'],
]

/** The longest `user_id` that the provider takes, characters. */
const MAX_USER = 256
export const shortenUser = (user: string): string => shorten(user, MAX_USER)
