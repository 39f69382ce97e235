/** Descriptions of OpenAI's moderation endpoint for clients. */
import { boolean, json, list, map, number, object, text } from '../../shapes.ts'
import type { FormatDescription } from '../format.ts'

const result = object(
  { flagged: boolean, categories: map(boolean), category_scores: map(number) },
  { category_applied_input_types: map(list(text)) },
)

export const about: FormatDescription = {
  summary: 'Finds harmful content, in the format of OpenAI moderations',
  responses: () => json(object({ id: text, model: text, results: list(result) })),
}
