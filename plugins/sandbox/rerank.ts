/** Reranking in the sandbox: a document is as relevant as it shares words with the query. */
import type { Json } from '../../engine/plugin.ts'
import type { CannedResult } from './canned-result.ts'
import { fieldsIn, listIn, numberIn, textIn } from './sandbox-format.ts'

const DOCUMENTS_PER_UNIT = 100

export const rerank: CannedResult = {
  path: /\/rerank$/,
  plain(body, _path, { id }) {
    const documents = listIn(body.documents).map(textOf)
    const queryWords = new Set(wordsOf(textOf(body.query ?? '')))
    const results = documents
      .map((text, index) => ({ index, relevance_score: relevance(queryWords, wordsOf(text)) }))
      .sort((a, b) => b.relevance_score - a.relevance_score || a.index - b.index)
      .slice(0, numberIn(body.top_n) ?? documents.length)
      .map(({ index, relevance_score }) => ({
        index,
        relevance_score,
        ...(body.return_documents === true && { document: { text: documents[index] ?? '' } }),
      }))
    const units = Math.ceil(documents.length / DOCUMENTS_PER_UNIT)
    return {
      id,
      model: textIn(body.model),
      results,
      meta: { api_version: { version: '1' }, billed_units: { search_units: units } },
    }
  },
}

const textOf = (document: Json): string => textIn(fieldsIn(document).text) || textIn(document)
const wordsOf = (text: string): readonly string[] =>
  text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
/** From 0.01 to 0.99. */
const relevance = (query: ReadonlySet<string>, words: readonly string[]): number => {
  const share = new Set(words.filter(word => query.has(word))).size / Math.max(1, query.size)
  return Number((0.01 + share * 0.98).toFixed(4))
}
