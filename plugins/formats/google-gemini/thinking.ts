/** How much is thought: tokens on some models, a level on others; both ways by tables. */
import type { Loss } from '../codec.ts'
import { entryOf, type Fields, present } from '../fields.ts'
import type { Thinking } from '../hub.ts'
import { bad, type Given } from './given.ts'
import { DEPTHS, type Traits } from './traits.ts'

/** Effort -> tokens and level, as Google's own layer for OpenAI's clients has them. */
const EFFORTS: Readonly<Record<string, readonly [budget: number, level: string]>> = {
  none: [0, 'MINIMAL'],
  minimal: [1024, 'MINIMAL'],
  low: [1024, 'LOW'],
  medium: [8192, 'MEDIUM'],
  high: [24576, 'HIGH'],
  xhigh: [24576, 'HIGH'],
  max: [24576, 'HIGH'],
}
/** Tokens -> level: the most each level stands for. */
const LEVELS: readonly (readonly [most: number, level: string])[] = [
  [0, 'MINIMAL'],
  [1024, 'LOW'],
  [8192, 'MEDIUM'],
  [Number.POSITIVE_INFINITY, 'HIGH'],
]
const DYNAMIC = -1
const NAMED = new Set(['minimal', 'low', 'medium', 'high'])

export const readThinking = (config: Given, loss: Loss): Thinking | undefined => {
  const given = config.object('thinkingConfig')
  if (!given) return undefined
  const show = given.flag('includeThoughts')
  const budget = given.number('thinkingBudget')
  const level = given.text('thinkingLevel')?.toLowerCase()
  given.rest(loss)
  if (budget !== undefined && level !== undefined)
    throw bad(given.at, 'a budget and a level exclude each other')
  const shown = show !== undefined && { show }
  if (level !== undefined && NAMED.has(level)) return { mode: 'effort', effort: level, ...shown }
  if (level !== undefined && level !== 'thinking_level_unspecified')
    throw bad(given.place('thinkingLevel'), 'it is MINIMAL, LOW, MEDIUM or HIGH')
  if (budget === 0) return { mode: 'off', ...shown }
  if (budget !== undefined && budget > 0) return { mode: 'budget', budget, ...shown }
  return { mode: 'adaptive', ...shown }
}

/** `limit`: tokens that may be written, thoughts included. */
export const writeThinking = (
  thinking: Thinking,
  traits: Traits,
  limit: number | undefined,
  loss: Loss,
): Fields | undefined => {
  const { thinking: way, least } = traits
  const off = thinking.mode === 'off' || thinking.effort === 'none'
  // What does not think cannot be made to, and what always does cannot be kept from it.
  if (way ? off && way === 'budget' && least > 0 : !off) loss.drop('thinking')
  if (!way) return undefined
  const amount =
    way === 'level'
      ? { thinkingLevel: depthOf(levelOf(thinking), traits) }
      : { thinkingBudget: budgetOf(thinking, traits, limit) }
  return present({ ...amount, includeThoughts: thinking.show })
}
const levelOf = ({ mode, effort, budget }: Thinking): string | undefined => {
  if (mode === 'off') return 'MINIMAL'
  if (mode === 'budget' && budget !== undefined) return LEVELS.find(([most]) => budget <= most)?.[1]
  return effort === undefined ? undefined : entryOf(EFFORTS, effort)?.[1]
}
/** The level itself, or the next deeper one that the model takes. */
const depthOf = (level: string | undefined, { depths }: Traits): string | undefined => {
  if (level === undefined) return undefined
  const wanted = DEPTHS.indexOf(level)
  return depths.find(each => DEPTHS.indexOf(each) >= wanted) ?? depths.at(-1)
}
/** A share of what may be written stays for the answer. */
const SHARE = 0.8
const budgetOf = (
  { mode, effort, budget }: Thinking,
  { least, most }: Traits,
  limit: number | undefined,
): number => {
  const held = (tokens: number): number => Math.max(least, Math.min(tokens, most))
  if (mode === 'off') return held(0)
  if (mode === 'budget' && budget !== undefined) return held(budget)
  const tokens = effort === undefined ? undefined : entryOf(EFFORTS, effort)?.[0]
  if (tokens === undefined) return DYNAMIC
  return held(limit === undefined ? tokens : Math.min(tokens, Math.floor(limit * SHARE)))
}
