/** Defaults of a model's entry for a request that does not set them: thinking, by `thinking: {
 *  budget: 80% }` (the trait `thinks`), and cache breakpoints, by `prompt_cache`. */
import type { Attempt, Json } from '../../engine/plugin.ts'
import { autoCacheFor } from '../conversion/prompt-cache-option.ts'
import { isFields } from '../formats/fields.ts'
import type { Format } from '../formats/format.ts'
import type { AutoCache } from '../formats/hub/auto-cache.ts'
import type { DroppedFields } from '../formats/hub/codec.ts'
import type { Prompt, Settings } from '../formats/hub/prompt.ts'
import { setBodyMember } from '../formats/request-edits.ts'

/** Output limit in tokens if the client sets none, and the smallest limit that leaves room for
 *  thoughts and an answer. */
const DEFAULT_LIMIT = 8192
const MIN_LIMIT = 1280
/** Settings that providers refuse while a model thinks. */
const REFUSED_SETTINGS = ['temperature', 'topP', 'topK'] as const

export const thinksByDefault = (traits: { readonly [key: string]: Json } | undefined): boolean =>
  isFields(traits?.thinks)

export const addDefaultThinking = (
  prompt: Prompt,
  traits: { readonly [key: string]: Json },
  dropped: DroppedFields,
): Prompt => {
  const trait = traits.thinks
  if (!isFields(trait) || prompt.thinking) return prompt
  const limit = Math.max(MIN_LIMIT, prompt.settings.limit ?? DEFAULT_LIMIT)
  const thinking = { mode: 'budget', budget: budgetOf(trait.budget, limit), show: true } as const
  return { ...prompt, thinking, settings: { ...removeRefused(prompt.settings, dropped), limit } }
}
/** `budget`: a number of tokens, or a percentage of the limit. */
const budgetOf = (budget: Json | undefined, limit: number): number => {
  if (typeof budget === 'number') return Math.min(budget, limit - 1)
  const fraction = typeof budget === 'string' ? Number.parseFloat(budget) / 100 : 0.8
  return Math.floor(limit * fraction)
}
const removeRefused = (settings: Settings, dropped: DroppedFields): Settings => {
  const result: { -readonly [Name in keyof Settings]: Settings[Name] } = { ...settings }
  for (const name of REFUSED_SETTINGS) {
    if (result[name] === undefined) continue
    if (name !== 'temperature' || result[name] !== 1) dropped.add(name)
    delete result[name]
  }
  return result
}

/** Sets cache breakpoints in a request that passes through.
 *  `ofRoute`: breakpoints for models that do not say it themselves. */
export const addCachedMembers = (
  { request, target, exchange }: Attempt,
  format: Format,
  ofRoute: AutoCache | undefined,
): void => {
  const autoCache = autoCacheFor(target, ofRoute)
  if (!autoCache) return
  const body = exchange.request.parsed
  if (!isFields(body)) return
  for (const member of format.cachedMembers?.(body, autoCache) ?? [])
    setBodyMember(request, body, member)
}
