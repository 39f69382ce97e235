/** Converts the thinking settings: a token budget on some models, a level on others. */
import { type Fields, lookUp, omitUndefined } from '../fields.ts'
import { type RequestObject, valueFault } from '../google/request-object.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { Thinking } from '../hub/prompt.ts'
import { THINKING_LEVELS, type Traits } from './traits.ts'

/** Effort -> budget in tokens and level, as in Google's compatibility layer for OpenAI. */
const EFFORTS: Readonly<Record<string, readonly [budget: number, level: string]>> = {
  none: [0, 'MINIMAL'],
  minimal: [1024, 'MINIMAL'],
  low: [1024, 'LOW'],
  medium: [8192, 'MEDIUM'],
  high: [24576, 'HIGH'],
  xhigh: [24576, 'XHIGH'],
  max: [24576, 'XHIGH'],
}
/** The maximum budget of each level. */
const LEVELS: readonly (readonly [most: number, level: string])[] = [
  [0, 'MINIMAL'],
  [1024, 'LOW'],
  [8192, 'MEDIUM'],
  [Number.POSITIVE_INFINITY, 'HIGH'],
]
const DYNAMIC = -1
const NAMED_LEVELS = new Set(['minimal', 'low', 'medium', 'high', 'xhigh'])

export const readThinking = (
  config: RequestObject,
  dropped: DroppedFields,
): Thinking | undefined => {
  const object = config.object('thinkingConfig')
  if (!object) return undefined
  const show = object.flag('includeThoughts')
  const budget = object.number('thinkingBudget')
  const level = object.text('thinkingLevel')?.toLowerCase()
  object.reportUnread(dropped)
  if (budget !== undefined && level !== undefined)
    throw valueFault(object.path, 'thinkingBudget and thinkingLevel cannot be combined')
  const showMember = show !== undefined && { show }
  if (level !== undefined && NAMED_LEVELS.has(level))
    return { mode: 'effort', effort: level, ...showMember }
  if (level !== undefined && level !== 'thinking_level_unspecified')
    throw valueFault(object.pathOf('thinkingLevel'), 'expected MINIMAL, LOW, MEDIUM, HIGH or XHIGH')
  if (budget === 0) return { mode: 'off', ...showMember }
  if (budget !== undefined && budget > 0) return { mode: 'budget', budget, ...showMember }
  return { mode: 'adaptive', ...showMember }
}

/** `limit`: the maximum output in tokens, thoughts included. */
export const writeThinking = (
  thinking: Thinking,
  traits: Traits,
  limit: number | undefined,
  dropped: DroppedFields,
): Fields | undefined => {
  const { thinking: mode, minBudget } = traits
  const isOff = thinking.mode === 'off' || thinking.effort === 'none'
  if (!mode) {
    if (!isOff) dropped.add('thinking') // the model cannot think
    return undefined
  }
  const level = mode === 'level' ? acceptedLevel(levelOf(thinking), traits) : undefined
  // A model with a minimum budget cannot stop, nor can one whose lowest level is above MINIMAL.
  const alwaysThinks = mode === 'level' ? level !== 'MINIMAL' : minBudget > 0
  if (isOff && alwaysThinks) dropped.add('thinking')
  if (mode === 'level')
    return omitUndefined({ thinkingLevel: level, includeThoughts: thinking.show })
  const thinkingBudget = budgetOf(thinking, traits, limit)
  // Google refuses `includeThoughts` with a budget of 0.
  return omitUndefined({
    thinkingBudget,
    includeThoughts: thinkingBudget === 0 ? undefined : thinking.show,
  })
}
const levelOf = ({ mode, effort, budget }: Thinking): string | undefined => {
  if (mode === 'off') return 'MINIMAL'
  if (mode === 'budget' && budget !== undefined) return LEVELS.find(([most]) => budget <= most)?.[1]
  return effort === undefined ? undefined : lookUp(EFFORTS, effort)?.[1]
}
/** The level, or the next higher one that the model accepts. */
const acceptedLevel = (
  level: string | undefined,
  { acceptedLevels }: Traits,
): string | undefined => {
  if (level === undefined) return undefined
  const levelIndex = THINKING_LEVELS.indexOf(level)
  return (
    acceptedLevels.find(each => THINKING_LEVELS.indexOf(each) >= levelIndex) ??
    acceptedLevels.at(-1)
  )
}
/** The maximum share of the output for thoughts; the rest is for the answer. */
const MAX_THINKING_SHARE = 0.8
const budgetOf = (
  { mode, effort, budget }: Thinking,
  { minBudget, maxBudget }: Traits,
  limit: number | undefined,
): number => {
  const clamp = (tokens: number): number => Math.max(minBudget, Math.min(tokens, maxBudget))
  if (mode === 'off') return clamp(0)
  const share = limit === undefined ? Infinity : Math.floor(limit * MAX_THINKING_SHARE)
  if (mode === 'budget' && budget !== undefined)
    return clamp(limit === undefined || budget < limit ? budget : share)
  const tokens = effort === undefined ? undefined : lookUp(EFFORTS, effort)?.[0]
  return tokens === undefined ? DYNAMIC : clamp(Math.min(tokens, share))
}
