/** Thinking budgets of models that take one, and the efforts of Anthropic's models. */

/** Effort -> budget in tokens, with the values of Google's compatibility layer. */
export const BUDGETS: Readonly<Record<string, number>> = {
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
}
/** Efforts that these models lack -> the nearest one. */
export const EFFORTS: Readonly<Record<string, string>> = { minimal: 'low' }
