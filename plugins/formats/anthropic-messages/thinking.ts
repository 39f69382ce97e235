/** Converts the thinking settings, and resolves their conflicts with other settings. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, lenientObjects } from '../fields.ts'
import type { DroppedFields, TargetFacts } from '../hub/codec.ts'
import type { Content } from '../hub/content.ts'
import { forcesTool, needsSignatures, resumesWithoutThought } from '../hub/conversation-rules.ts'
import type { Prompt, Thinking } from '../hub/prompt.ts'
import { BUDGETS, EFFORTS } from '../hub/thinking-budgets.ts'
import { type FieldPath, NAME, numberIn, objectIn, rejectValue, textIn } from './members.ts'

// ---------------------------------------------------------------- decoding

type Read = (thinking: Fields, at: FieldPath) => Thinking
const MODES: Readonly<Record<string, Read>> = {
  disabled: () => ({ mode: 'off' }),
  adaptive: () => ({ mode: 'adaptive' }),
  between_tools: () => ({ mode: 'adaptive' }),
  enabled: (thinking, at) => {
    const budget = numberIn(thinking, 'budget_tokens', at)
    return {
      show: true,
      ...(budget === undefined ? { mode: 'adaptive' } : { mode: 'budget', budget }),
    }
  },
}

export const readThinking = (body: Fields): { readonly thinking?: Thinking } => {
  const effort = textIn(objectIn(body, 'output_config', '') ?? {}, 'effort', 'output_config')
  const request = objectIn(body, 'thinking', '')
  if (!request) return effort === undefined ? {} : { thinking: { mode: 'effort', effort } }
  const type = textIn(request, 'type', 'thinking') ?? ''
  const display = textIn(request, 'display', 'thinking')
  const thinking = MODES[type]?.(request, 'thinking') ?? rejectValue('thinking.type', `'${type}'`)
  if (!thinking) return {}
  return {
    thinking: {
      ...thinking,
      ...(effort !== undefined && { effort }),
      ...(display !== undefined && { show: display !== 'omitted' }),
    },
  }
}

// ---------------------------------------------------------------- encoding

const effortOf = (budget: number): string => {
  if (budget <= 1_024) return 'low'
  return budget <= 8_192 ? 'medium' : 'high'
}

/** The smallest valid budget, in tokens. */
const MIN_BUDGET = 1_024
/** The maximum share of the output for thoughts; the rest is for the answer. */
const MAX_THINKING_SHARE = 0.8
/** The default output limit, in tokens. */
const DEFAULT_LIMIT = 8_192

export interface ThinkingPlan {
  readonly limit: number
  /** Undefined: the request does not mention thinking. */
  readonly thinking?: Fields
  readonly effort?: string
  readonly isOn: boolean
}

/** Computes `max_tokens`, which is required, and a thinking budget that fits into it. */
export const planThinking = (
  prompt: Prompt,
  target: TargetFacts,
  dropped: DroppedFields,
): ThinkingPlan => {
  const { thinking, settings } = prompt
  // The provider rejects a limit above the model's maximum.
  const clientLimit = settings.limit && Math.min(settings.limit, target.maxOutput ?? settings.limit)
  const limit = clientLimit ?? target.maxOutput ?? DEFAULT_LIMIT
  if (!thinking) return { limit, isOn: false }
  if (thinking.mode === 'off' || thinking.effort === 'none')
    return { limit, thinking: { type: 'disabled' }, isOn: false, ...effortMember(thinking) }
  if (forcesTool(prompt)) {
    if (thinking.mode === 'effort' && target.traits.thinking === 'adaptive')
      return { limit, isOn: false, ...effortMember(thinking) }
    dropped.add('thinking')
    return { limit, isOn: false }
  }
  if (target.traits.thinking === 'adaptive') return adaptiveThinking(thinking, limit)
  if (resumesWithoutThought(prompt, NAME)) {
    dropped.add('thinking')
    return { limit, isOn: false }
  }
  return budgetThinking(thinking, clientLimit, limit, target, dropped)
}
const effortMember = ({ effort }: Thinking): { readonly effort?: string } =>
  effort === undefined || effort === 'none' ? {} : { effort: EFFORTS[effort] ?? effort }

/** Models with a thinking budget show their thoughts by default, and not all of them support
 *  `display`. */
const displayMember = ({ show }: Thinking, defaultShow: boolean | undefined): Fields =>
  show === undefined || show === defaultShow ? {} : { display: show ? 'summarized' : 'omitted' }

const adaptiveThinking = (thinking: Thinking, limit: number): ThinkingPlan => {
  const { budget } = thinking
  return {
    limit,
    isOn: true,
    thinking: { type: 'adaptive', ...displayMember(thinking, undefined) },
    ...(budget !== undefined && { effort: effortOf(budget) }),
    ...effortMember(thinking),
  }
}
const budgetThinking = (
  thinking: Thinking,
  clientLimit: number | undefined,
  defaultLimit: number,
  target: TargetFacts,
  dropped: DroppedFields,
): ThinkingPlan => {
  const desiredBudget = Math.max(
    thinking.budget ?? BUDGETS[thinking.effort ?? 'medium'] ?? DEFAULT_LIMIT,
    MIN_BUDGET,
  )
  // Only a default limit may be raised.
  const limit =
    clientLimit ??
    Math.min(Math.max(defaultLimit, desiredBudget + DEFAULT_LIMIT), target.maxOutput ?? Infinity)
  const maxBudget =
    thinking.budget !== undefined && desiredBudget < limit
      ? desiredBudget
      : Math.floor(limit * MAX_THINKING_SHARE)
  const budget = Math.min(desiredBudget, Math.max(maxBudget, MIN_BUDGET))
  if (budget >= limit) {
    dropped.add('thinking')
    return { limit, isOn: false }
  }
  const effortMembers = thinking.mode === 'budget' ? effortMember(thinking) : {}
  return {
    limit,
    isOn: true,
    thinking: { type: 'enabled', budget_tokens: budget, ...displayMember(thinking, true) },
    ...effortMembers,
  }
}

/** Targets that sign nothing get their unsigned thoughts back, with an empty signature. */
export const ownThoughts = (prompt: Prompt, target: TargetFacts): Prompt => {
  if (needsSignatures(target)) return prompt
  const sign = (content: Content): Content =>
    content.type === 'thought' && !content.payload
      ? { ...content, payload: { origin: NAME, data: '' } }
      : content
  return {
    ...prompt,
    turns: prompt.turns.map(turn =>
      turn.content.some(each => 'payload' in each && each.payload)
        ? turn
        : { ...turn, content: turn.content.map(sign) },
    ),
  }
}

/** The messages of a client's own request without unsigned thoughts, which the gateway made of
 *  another provider's answer. */
export const repairHistory = (
  { messages, thinking }: Fields,
  target: TargetFacts,
): readonly (readonly [key: string, value: Json])[] => {
  if (!needsSignatures(target) || !Array.isArray(messages)) return []
  if (!messages.some(message => contentOf(message).some(isUnsigned))) return []
  const repaired = messages.flatMap((message): readonly Json[] => {
    const content = contentOf(message)
    if (!content.some(isUnsigned)) return [message]
    const rest = content.filter(block => !isUnsigned(block))
    return rest.length === 0 ? [] : [{ ...(message as Fields), content: rest }]
  })
  // With a budget, a turn with a call must begin with its thought.
  const isOff = isFields(thinking) && thinking.type === 'enabled' && resumesCall(repaired)
  return [['messages', repaired], ...(isOff ? [['thinking', { type: 'disabled' }] as const] : [])]
}

const contentOf = (message: Json): readonly Json[] =>
  isFields(message) && Array.isArray(message.content) ? message.content : []
const isUnsigned = (block: Json): boolean =>
  isFields(block) && block.type === 'thinking' && !block.signature
const resumesCall = (messages: readonly Json[]): boolean => {
  const last = messages.findLastIndex(message => isFields(message) && message.role === 'assistant')
  const first = contentOf(messages[last] ?? null).find(
    block => isFields(block) && /thinking$|^tool_use$/.test(String(block.type)),
  )
  return isFields(first) && first.type === 'tool_use'
}

/** Removes settings that conflict with thinking and reports them as dropped. */
export const removeConflicts = (body: Fields, dropped: DroppedFields): Fields => {
  const result: { [key: string]: Fields[string] } = { ...body }
  const drop = (key: string, hub: string): void => {
    delete result[key]
    dropped.add(hub)
  }
  if (result.temperature !== undefined && result.temperature !== 1)
    drop('temperature', 'temperature')
  if (result.top_k !== undefined) drop('top_k', 'topK')
  if (typeof result.top_p === 'number' && result.top_p < 0.95) drop('top_p', 'topP')
  return result
}

// ---------------------------------------------------------------- requests of this format

/** Whether a model cannot take a request of this format unchanged: agents decide by its name what
 *  they send. Only traits that say so count; without them a request passes as it came. */
export const needsTranslation = (body: Fields, traits: TargetFacts['traits']): boolean =>
  (traits.thinking === 'budget' && asksForEffort(body)) ||
  (traits.system_turns === false && hasSystemTurn(body))

/** A model with thinking budgets knows no other mode, and an effort only beside a budget. */
const asksForEffort = ({ thinking, output_config: config }: Fields): boolean => {
  const { type } = isFields(thinking) ? thinking : {}
  const effort = isFields(config) ? config.effort : undefined
  if (type === 'adaptive' || type === 'between_tools') return true
  return type !== 'enabled' && effort !== undefined && effort !== null
}
const hasSystemTurn = (body: Fields): boolean =>
  lenientObjects(body, 'messages').some(({ role }) => role === 'system')
