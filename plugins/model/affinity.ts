/** Finds the conversation that a request belongs to, so that all its calls go to one target and
 *  key: providers cache prompts by account. */
import type { Exchange, Json, Target } from '../../engine/plugin.ts'
import { type AffinitySource, DEFAULT_AFFINITY } from '../catalogue/section.ts'
import { isFields } from '../formats/fields.ts'
import { ACCOUNT, CHAIN, KEEP_TOGETHER } from '../slots.ts'

/** Stored responses are read later: the plugin `responses` names the conversation. */
const STORED = 'previous_response_id'
/** Headers in which agents send the id of a session. */
const SESSION_HEADERS: readonly string[] = [
  'session_id',
  'session-id',
  'conversation_id',
  'x-session-id',
  'x-claude-code-session-id',
]
type Find = (exchange: Exchange, body: { readonly [member: string]: Json }) => unknown
const SOURCES: Readonly<Record<Exclude<AffinitySource, typeof STORED>, Find>> = {
  prompt_cache_key: (_, { prompt_cache_key: key }) => key,
  conversation: (_, { conversation }) => (isFields(conversation) ? conversation.id : conversation),
  'metadata.user_id': (_, { metadata }) => (isFields(metadata) ? metadata.user_id : undefined),
  session: ({ request: { headers } }) =>
    SESSION_HEADERS.map(name => headers[name]).find(value => value !== undefined),
  key: ({ slots }) => slots.get(ACCOUNT)?.key?.id,
}

/** Marks the targets with the id of the request's conversation, which keeps it at one upstream. The
 *  id comes from the first source that the request has. */
export const withAffinity = (
  targets: readonly Target[],
  sources: readonly AffinitySource[],
  exchange: Exchange,
): readonly Target[] => {
  const { outlined } = exchange.request
  const body = isFields(outlined) ? outlined : {}
  for (const source of sources) {
    if (source === STORED) {
      const chain = exchange.slots.get(CHAIN)
      if (chain !== undefined) return mark(targets, source, chain, exchange)
      exchange.slots.set(KEEP_TOGETHER, id => {
        exchange.targets = mark(exchange.targets, source, id, exchange)
      })
      continue
    }
    const id = SOURCES[source](exchange, body)
    if (id !== undefined && id !== null && id !== '') return mark(targets, source, id, exchange)
  }
  return targets
}
/** Identifies the conversation of a request. Undefined: the request names none, and a chain of
 *  stored responses is not known yet. */
export const conversationOf = (
  exchange: Exchange,
  body: { readonly [member: string]: Json },
): string | undefined => {
  for (const source of DEFAULT_AFFINITY) {
    const id = source === STORED ? undefined : SOURCES[source](exchange, body)
    if (id !== undefined && id !== null && id !== '') return `${source} ${String(id).slice(0, 512)}`
  }
  const chain = exchange.slots.get(CHAIN)
  return chain === undefined ? undefined : `${STORED} ${chain}`
}
const mark = (
  targets: readonly Target[],
  source: AffinitySource,
  id: unknown,
  { slots }: Exchange,
): readonly Target[] => {
  // Two accounts may choose the same id.
  const affinity = `${slots.get(ACCOUNT)?.id ?? ''} ${source} ${String(id).slice(0, 512)}`
  return targets.map(target => ({ ...target, affinity }))
}
