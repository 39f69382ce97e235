/** Names of plain settings. */
import { shorten } from '../end-user.ts'
import type { Settings } from '../hub/prompt.ts'
import { nullFacts } from '../json/null-members.ts'

/** Null members that the types of the provider permit, and members with the client's data. */
export const NULLS = nullFacts(
  `allowed_domains blocked_domains cache_control city configs container context country
 diagnostics display document_title effort eager_input_streaming error format inference_geo
 max_characters max_content_tokens max_uses page_age previous_message_id region retrieved_at
 skills speed timezone title transformations url_sources user_id user_location`,
  'input input_examples input_schema schema',
)

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
