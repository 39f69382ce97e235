/** Encodes thinking: members for the model itself, and an output limit that leaves room for it. */
import type { Fields } from '../fields.ts'
import type { DroppedFields, TargetFacts } from '../hub/codec.ts'
import { forcesTool, resumesWithoutThought } from '../hub/conversation-rules.ts'
import type { Prompt, Thinking } from '../hub/prompt.ts'
import { BUDGETS, EFFORTS } from '../hub/thinking-budgets.ts'
import { NAME } from './name.ts'

export interface ThinkingPlan {
  /** Output limit in tokens; undefined: that of the model. */
  readonly limit: number | undefined
  /** Of `additionalModelRequestFields`. */
  readonly members?: Fields
  /** Of `outputConfig`. */
  readonly effort?: string
  readonly isOn: boolean
}

/** The levels of models with `thinking: level`. */
const LEVELS: Readonly<Record<string, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
}
/** The smallest valid budget, the room for the answer, and the share of a limit for thoughts. */
const [MIN_BUDGET, ANSWER_ROOM, MAX_SHARE] = [1_024, 8_192, 0.8]

export const planThinking = (
  prompt: Prompt,
  target: TargetFacts,
  dropped: DroppedFields,
): ThinkingPlan => {
  const { thinking, settings } = prompt
  const { maxOutput, traits } = target
  const limit = settings.limit && Math.min(settings.limit, maxOutput ?? settings.limit)
  const off = { limit, isOn: false }
  if (!thinking || isOff(thinking)) return off
  const isImpossible = traits.thinking === false || forcesTool(prompt)
  if (isImpossible || (traits.thinking !== 'level' && resumesWithoutThought(prompt, NAME))) {
    dropped.add('thinking')
    return off
  }
  if (traits.thinking === 'adaptive') return adaptive(thinking, limit)
  if (traits.thinking === 'level') return byLevel(thinking, limit)
  return byBudget(thinking, limit, maxOutput, dropped)
}
const isOff = ({ mode, effort }: Thinking): boolean => mode === 'off' || effort === 'none'
const adaptive = (thinking: Thinking, limit: number | undefined): ThinkingPlan => {
  const effort = thinking.effort ?? effortOf(thinking.budget)
  const display = thinking.show === undefined ? undefined : displayOf(thinking.show)
  return {
    limit,
    isOn: true,
    members: { thinking: { type: 'adaptive', ...(display !== undefined && { display }) } },
    ...(effort !== undefined && { effort: EFFORTS[effort] ?? effort }),
  }
}
const displayOf = (isShown: boolean): string => (isShown ? 'summarized' : 'omitted')
const effortOf = (budget: number | undefined): string | undefined => {
  if (budget === undefined) return undefined
  if (budget <= MIN_BUDGET) return 'low'
  return budget <= 8_192 ? 'medium' : 'high'
}

const byLevel = (thinking: Thinking, limit: number | undefined): ThinkingPlan => {
  const effort = thinking.effort ?? effortOf(thinking.budget) ?? 'medium'
  const reasoningConfig = { type: 'enabled', maxReasoningEffort: LEVELS[effort] ?? 'medium' }
  return { limit, isOn: true, members: { reasoningConfig } }
}

const byBudget = (
  { budget: ownBudget, effort = 'medium' }: Thinking,
  ownLimit: number | undefined,
  maxOutput: number | undefined,
  dropped: DroppedFields,
): ThinkingPlan => {
  const desired = Math.max(ownBudget ?? BUDGETS[effort] ?? ANSWER_ROOM, MIN_BUDGET)
  const limit = ownLimit ?? Math.min(desired + ANSWER_ROOM, maxOutput ?? Infinity)
  const isOwn = ownBudget !== undefined && desired < limit
  const most = isOwn ? desired : Math.max(Math.floor(limit * MAX_SHARE), MIN_BUDGET)
  const budget = Math.min(desired, most)
  if (budget >= limit) {
    dropped.add('thinking')
    return { limit: ownLimit, isOn: false }
  }
  return {
    limit,
    isOn: true,
    members: { thinking: { type: 'enabled', budget_tokens: budget } },
  }
}
