/** Models that think by their name: `thinking: { budget: 80% }` in their entry turns it on where a client says nothing. */
import type { Json } from '../../engine/plugin.ts'
import type { Loss } from '../formats/codec.ts'
import { isFields } from '../formats/fields.ts'
import type { Prompt, Settings } from '../formats/hub.ts'

/** Tokens that are written where the client names no bound, and the fewest that leave room for thoughts and an answer. */
const LIMIT = 8192
const LEAST = 1280
/** What cannot be chosen while a model thinks. */
const FIXED = ['temperature', 'topP', 'topK'] as const

export const thinksByName = (traits: { readonly [key: string]: Json } | undefined): boolean =>
  isFields(traits?.thinks)

export const thoughtful = (
  prompt: Prompt,
  traits: { readonly [key: string]: Json },
  loss: Loss,
): Prompt => {
  const given = traits.thinks
  if (!isFields(given) || prompt.thinking) return prompt
  const limit = Math.max(LEAST, prompt.settings.limit ?? LIMIT)
  const thinking = { mode: 'budget', budget: budgetOf(given.budget, limit), show: true } as const
  return { ...prompt, thinking, settings: { ...freed(prompt.settings, loss), limit } }
}
/** A share of the limit, or tokens. */
const budgetOf = (budget: Json | undefined, limit: number): number => {
  if (typeof budget === 'number') return Math.min(budget, limit - 1)
  const share = typeof budget === 'string' ? Number.parseFloat(budget) / 100 : 0.8
  return Math.floor(limit * share)
}
const freed = (settings: Settings, loss: Loss): Settings => {
  const kept: { -readonly [Name in keyof Settings]: Settings[Name] } = { ...settings }
  for (const name of FIXED) {
    if (kept[name] === undefined) continue
    if (name !== 'temperature' || kept[name] !== 1) loss.drop(name)
    delete kept[name]
  }
  return kept
}
