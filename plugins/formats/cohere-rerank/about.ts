/** Descriptions of Cohere's rerank endpoint for clients. */
import { fields, integer, json, list, number, object, text } from '../../shapes.ts'
import type { FormatDescription } from '../format.ts'

const result = object({ index: integer, relevance_score: number }, { document: fields })

export const about: FormatDescription = {
  summary: 'Orders documents by their relevance, in the format of Cohere rerank',
  responses: () => json(object({ results: list(result) }, { id: text, model: text, meta: fields })),
}
