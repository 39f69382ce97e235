/** Names of plain settings, both ways. */
import type { Settings } from '../hub.ts'

/** Hub name -> member of the body, where one stands for the other. */
export const MEMBERS = {
  limit: 'max_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  stops: 'stop_sequences',
} as const satisfies Partial<Record<keyof Settings, string>>

/** As a client of this format knows them; some stand inside other members. */
export const SETTINGS: Readonly<Record<string, string>> = {
  ...MEMBERS,
  user: 'metadata.user_id',
  tier: 'service_tier',
  parallel: 'tool_choice.disable_parallel_tool_use',
  thinking: 'thinking',
  form: 'output_config.format',
  choice: 'tool_choice',
}

/** Tiers that are asked for under another name. */
export const TIERS: readonly (readonly [hub: string, own: string])[] = [
  ['auto', 'auto'],
  ['default', 'standard_only'],
]
