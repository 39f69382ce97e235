/** Converts the thinking settings, and resolves their conflicts with other settings. */
import type { Loss, TargetFacts } from '../codec.ts'
import { type Fields, isFields } from '../fields.ts'
import type { Prompt, Thinking } from '../hub.ts'
import { misplaced, number, OWN, object, type Place, text } from './read.ts'

// ---------------------------------------------------------------- decoding

type Read = (thinking: Fields, at: Place) => Thinking
const MODES: Readonly<Record<string, Read>> = {
  disabled: () => ({ mode: 'off' }),
  adaptive: () => ({ mode: 'adaptive' }),
  between_tools: () => ({ mode: 'adaptive' }),
  enabled: (thinking, at) => {
    const budget = number(thinking, 'budget_tokens', at)
    return budget === undefined ? { mode: 'adaptive' } : { mode: 'budget', budget }
  },
}

export const readThinkingWish = (body: Fields): { readonly thinking?: Thinking } => {
  const effort = text(object(body, 'output_config', '') ?? {}, 'effort', 'output_config')
  const asked = object(body, 'thinking', '')
  if (!asked) return effort === undefined ? {} : { thinking: { mode: 'effort', effort } }
  const type = text(asked, 'type', 'thinking') ?? ''
  const display = text(asked, 'display', 'thinking')
  const wish = MODES[type]?.(asked, 'thinking') ?? misplaced('thinking.type', `'${type}'`)
  if (!wish) return {}
  return {
    thinking: {
      ...wish,
      ...(effort !== undefined && { effort }),
      ...(display !== undefined && { show: display !== 'omitted' }),
    },
  }
}

// ---------------------------------------------------------------- encoding

/** Effort -> budget in tokens, with the values of Google's compatibility layer. */
const BUDGETS: Readonly<Record<string, number>> = {
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
}
/** Efforts that this format lacks -> the nearest one. */
const EFFORTS: Readonly<Record<string, string>> = { minimal: 'low' }
const effortOf = (budget: number): string => {
  if (budget <= 1_024) return 'low'
  return budget <= 8_192 ? 'medium' : 'high'
}

/** The smallest valid budget, in tokens. */
const LEAST = 1_024
/** The maximum share of the output for thoughts; the rest is for the answer. */
const SHARE = 0.8
/** The default output limit, in tokens. */
const USUAL = 8_192

export interface Measured {
  readonly limit: number
  /** Undefined: the request does not mention thinking. */
  readonly thinking?: Fields
  readonly effort?: string
  readonly on: boolean
}

/** Computes `max_tokens`, which is required, and a thinking budget that fits into it. */
export const measured = (prompt: Prompt, target: TargetFacts, dropped: Loss): Measured => {
  const { thinking: wish, settings } = prompt
  // The provider rejects a limit above the model's maximum.
  const asked = settings.limit && Math.min(settings.limit, target.output ?? settings.limit)
  const limit = asked ?? target.output ?? USUAL
  if (!wish) return { limit, on: false }
  if (wish.mode === 'off' || wish.effort === 'none')
    return { limit, thinking: { type: 'disabled' }, on: false, ...effortWord(wish) }
  if (target.traits.thinking === 'adaptive') return adaptive(wish, limit)
  if (resumesWithoutThought(prompt)) {
    dropped.drop('thinking')
    return { limit, on: false }
  }
  return budgeted(wish, asked, limit, target, dropped)
}
const effortWord = ({ effort }: Thinking): { readonly effort?: string } =>
  effort === undefined || effort === 'none' ? {} : { effort: EFFORTS[effort] ?? effort }

/** Models with a thinking budget show their thoughts by default, and not all of them know
 *  `display`. */
const display = ({ show }: Thinking, usual: boolean | undefined): Fields =>
  show === undefined || show === usual ? {} : { display: show ? 'summarized' : 'omitted' }

const adaptive = (wish: Thinking, limit: number): Measured => {
  const { budget } = wish
  return {
    limit,
    on: true,
    thinking: { type: 'adaptive', ...display(wish, undefined) },
    ...(budget !== undefined && { effort: effortOf(budget) }),
    ...effortWord(wish),
  }
}
const budgeted = (
  wish: Thinking,
  asked: number | undefined,
  usual: number,
  target: TargetFacts,
  dropped: Loss,
): Measured => {
  const wanted = Math.max(wish.budget ?? BUDGETS[wish.effort ?? 'medium'] ?? USUAL, LEAST)
  // Only a default limit may be raised.
  const limit = asked ?? Math.min(Math.max(usual, wanted + USUAL), target.output ?? Infinity)
  const most = wish.budget !== undefined && wanted < limit ? wanted : Math.floor(limit * SHARE)
  const budget = Math.min(wanted, Math.max(most, LEAST))
  if (budget >= limit) {
    dropped.drop('thinking')
    return { limit, on: false }
  }
  const both = wish.mode === 'budget' ? effortWord(wish) : {}
  return {
    limit,
    on: true,
    thinking: { type: 'enabled', budget_tokens: budget, ...display(wish, true) },
    ...both,
  }
}

/** With a budget, a turn that called a tool must begin with its thought. A turn of another provider
 *  has no thought that this provider can read. */
const resumesWithoutThought = ({ turns }: Prompt): boolean => {
  const last = turns.findLastIndex(({ role }) => role === 'assistant')
  const answered = turns
    .slice(last + 1)
    .some(({ content }) => content.some(({ type }) => type === 'result'))
  if (last < 0 || !answered) return false
  const first = turns[last]?.content.find(({ type }) => type === 'thought' || type === 'call')
  return !(first?.type === 'thought' && first.seal?.origin === OWN)
}

/** Removes settings that conflict with thinking and reports them as dropped. */
export const heldBack = (body: Fields, dropped: Loss): Fields => {
  const kept: { [key: string]: Fields[string] } = { ...body }
  const drop = (key: string, hub: string): void => {
    delete kept[key]
    dropped.drop(hub)
  }
  if (kept.temperature !== undefined && kept.temperature !== 1) drop('temperature', 'temperature')
  if (kept.top_k !== undefined) drop('top_k', 'topK')
  if (typeof kept.top_p === 'number' && kept.top_p < 0.95) drop('top_p', 'topP')
  const { tool_choice: choice } = kept
  if (isFields(choice) && (choice.type === 'any' || choice.type === 'tool')) {
    const { disable_parallel_tool_use: single } = choice
    kept.tool_choice = { type: 'auto', ...(single && { disable_parallel_tool_use: true }) }
    dropped.drop('choice')
  }
  return kept
}
