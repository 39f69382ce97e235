/** Fits thinking to families of models: their words of effort, by names at the provider. Pure. */
import type { DroppedFields, TargetFacts } from '../codec.ts'
import type { Thinking } from '../prompt.ts'

/** All words, in order. */
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** The first pattern that matches. Sources: platform.claude.com/docs (effort),
 *  developers.openai.com/api/docs/guides/reasoning and its pages of models. */
const FAMILIES: readonly (readonly [RegExp, words: string])[] = [
  [/claude-(?:opus|sonnet)-4-6/, 'low medium high max'],
  [/claude-opus-4-5/, 'low medium high'],
  [/claude-(?:opus-5|sonnet-5|fable|opus-4-[78]|haiku-5-5)/, 'low medium high xhigh max'],
  [/(?:^|\/)o[134](?:-|$)/, 'low medium high'],
  [/(?:^|\/)gpt-5-codex/, 'low medium high'],
  [/(?:^|\/)gpt-5(?:-(?:mini|nano|\d{4}-\d\d-\d\d))*$/, 'minimal low medium high'],
  [/(?:^|\/)gpt-5\.1-codex-max/, 'none low medium high xhigh'],
  [/(?:^|\/)gpt-5\.1/, 'none low medium high'],
]

/** The thinking with the nearest effort that the model has, the lower of two, and with a whole
 *  budget; reports a change. Thoughts are switched off only if the client says so. */
export const fitThinking = (
  { budget, ...others }: Thinking,
  target: Pick<TargetFacts, 'name'>,
  dropped: DroppedFields,
): Thinking => {
  const fitted =
    budget === undefined ? budget : Math.floor(Math.min(Math.max(budget, 1), MAX_BUDGET))
  if (fitted !== budget) dropped.add('thinking')
  const thinking = { ...others, ...(fitted !== undefined && { budget: fitted }) }
  return fitEffort(thinking, target, dropped)
}
/** The largest output of models with budgets, tokens. */
const MAX_BUDGET = 128_000

const fitEffort = (
  thinking: Thinking,
  { name }: Pick<TargetFacts, 'name'>,
  dropped: DroppedFields,
): Thinking => {
  const [, words] = FAMILIES.find(([pattern]) => pattern.test(name)) ?? []
  const { mode } = thinking
  const effort = mode === 'off' ? 'none' : thinking.effort
  const known = words?.split(' ') ?? []
  if (effort === undefined || known.length === 0 || known.includes(effort)) return thinking
  // Models of Anthropic are switched off in another way.
  if (effort === 'none' && name.includes('claude')) return thinking
  const place = EFFORTS.indexOf(effort)
  if (place < 0) return thinking
  const distance = (word: string): number => Math.abs(EFFORTS.indexOf(word) - place)
  const nearest = known
    .filter(word => word !== 'none')
    .reduce((best, word) => (distance(word) < distance(best) ? word : best))
  dropped.add('thinking')
  return { ...thinking, mode: mode === 'off' ? 'effort' : mode, effort: nearest }
}
