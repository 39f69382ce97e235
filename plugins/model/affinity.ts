/** Finds the conversation that a request belongs to, so that all its calls go to one target and
 *  key: providers cache prompts by account. Pure. */
import type { Exchange, Json, Target } from '../../engine/plugin.ts'
import type { AffinitySource } from '../catalogue/section.ts'
import { isFields } from '../formats/fields.ts'
import { ACCOUNT } from '../slots.ts'

/** Headers in which agents send the id of a session. */
const SESSION_HEADERS: readonly string[] = [
  'session_id',
  'session-id',
  'conversation_id',
  'x-session-id',
  'x-claude-code-session-id',
]
type Find = (exchange: Exchange, body: { readonly [member: string]: Json }) => unknown
const SOURCES: Readonly<Record<AffinitySource, Find>> = {
  prompt_cache_key: (_, { prompt_cache_key: key }) => key,
  conversation: (_, { conversation }) => (isFields(conversation) ? conversation.id : conversation),
  'metadata.user_id': (_, { metadata }) => (isFields(metadata) ? metadata.user_id : undefined),
  session: ({ request: { headers } }) =>
    SESSION_HEADERS.map(name => headers[name]).find(value => value !== undefined),
  key: ({ slots }) => slots.get(ACCOUNT)?.key?.id,
}

/** The targets with the conversation of the request, by the first source that it has. */
export const withAffinity = (
  targets: readonly Target[],
  sources: readonly AffinitySource[],
  exchange: Exchange,
): readonly Target[] => {
  const { parsed } = exchange.request
  const body = isFields(parsed) ? parsed : {}
  for (const source of sources) {
    const id = SOURCES[source](exchange, body)
    if (id === undefined || id === null || id === '') continue
    // Two accounts may choose the same id.
    const affinity = `${exchange.slots.get(ACCOUNT)?.id ?? ''} ${source} ${String(id).slice(0, 512)}`
    return targets.map(target => ({ ...target, affinity }))
  }
  return targets
}
