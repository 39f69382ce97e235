/** Moderation in the sandbox: an input is flagged in the categories that its text names. */
import type { Json } from '../../engine/plugin.ts'
import type { CannedResult } from './canned-result.ts'
import { fieldsIn, listIn, textIn } from './sandbox-format.ts'

const CATEGORIES = [
  'harassment',
  'harassment/threatening',
  'hate',
  'hate/threatening',
  'illicit',
  'illicit/violent',
  'self-harm',
  'self-harm/intent',
  'self-harm/instructions',
  'sexual',
  'sexual/minors',
  'violence',
  'violence/graphic',
] as const
const [FLAGGED_SCORE, OTHER_SCORE] = [0.98, 0.0001]

export const moderations: CannedResult = {
  path: /\/moderations$/,
  plain: ({ input, model }, _path, { id }) => ({
    id: `modr-${id}`,
    model: textIn(model) || 'omni-moderation-latest',
    results: inputsIn(input ?? '').map(resultOf),
  }),
}

/** The parts of one input; parts with a type belong together. */
type Input = readonly Json[]
const inputsIn = (input: Json): readonly Input[] => {
  const parts = listIn(input)
  const hasTypes = parts.some(each => fieldsIn(each).type !== undefined)
  return !Array.isArray(input) || hasTypes
    ? [Array.isArray(input) ? parts : [input]]
    : parts.map(part => [part])
}
const resultOf = (parts: Input) => {
  const text = parts.map(part => textIn(part) || textIn(fieldsIn(part).text)).join(' ')
  const types = [...new Set(parts.map(part => (fieldsIn(part).image_url ? 'image' : 'text')))]
  const names = new Set(CATEGORIES.filter(category => text.toLowerCase().includes(category)))
  const byCategory = <T extends Json>(valueFor: (category: (typeof CATEGORIES)[number]) => T) =>
    Object.fromEntries(CATEGORIES.map(category => [category, valueFor(category)]))
  return {
    flagged: names.size > 0,
    categories: byCategory(category => names.has(category)),
    category_scores: byCategory(category => (names.has(category) ? FLAGGED_SCORE : OTHER_SCORE)),
    category_applied_input_types: byCategory(() => types),
  }
}
