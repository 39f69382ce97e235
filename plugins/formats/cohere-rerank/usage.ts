/** Usage of reranking: search units or tokens, as the upstream reports them; else an estimate in
 *  the meter that has a price. */
import type { Meters, PricedMeters } from '../../slots.ts'
import { count, type Fields, isFields, lenientObject, parseJson } from '../fields.ts'
import { omitZeroMeters, type UsageEstimate } from '../format.ts'
import { BYTES_PER_TOKEN } from '../prompt-tokens.ts'
import { CHAT_NAMES, withOwnNames } from '../stream/count-names.ts'
import { FieldExtractor } from '../stream/field-extractor.ts'
import { promptTokensIn } from '../token-meters.ts'

/** Documents of one search unit. */
const DOCUMENTS_PER_UNIT = 100

export const ownNames = withOwnNames(CHAT_NAMES)

/** Cohere has `meta.billed_units`, SiliconFlow `meta.tokens`; Jina, Voyage and vLLM have
 *  `usage`. */
export const metersOf = (sentMeta: Fields): Meters => {
  const meta = ownNames(sentMeta)
  const units = ownNames(lenientObject(meta, 'billed_units'))
  const tokens = ownNames(lenientObject(meta, 'tokens'))
  return omitZeroMeters({
    search_units: unitsIn(units),
    input: promptTokensIn(tokens) || promptTokensIn(units) || promptTokensIn(meta),
  })
}

/** Pinecone calls them rerank units. */
const unitsIn = (counts: Fields): number => count(counts.search_units) || count(counts.rerank_units)

export const rerankEstimate = (request: Fields, prices: PricedMeters): UsageEstimate => {
  const extractor = new FieldExtractor(Buffer.from('usage'))
  const byUnits = prices.has('search_units')
  const byTokens = prices.has('input')
  return {
    observe: chunk => extractor.push(chunk),
    usage(meta, whole) {
      const ofMeta = metersOf(meta ?? {})
      const report = extractor.value && parseJson(Buffer.from(extractor.value).toString())
      const usage = isFields(report) ? ownNames(report) : {}
      const units = ofMeta.search_units ?? unitsIn(usage)
      const tokens = promptTokensIn(usage) || (ofMeta.input ?? 0)
      if (units > 0 && (byUnits || !byTokens))
        return { meters: { search_units: units }, estimated: false }
      if (tokens > 0 && (byTokens || !byUnits))
        return { meters: { input: tokens }, estimated: false }
      const meters = byUnits ? { search_units: unitsOf(request) } : { input: estimate(request) }
      return { meters, estimated: true, ...(whole && { isFinalEstimate: true }) }
    },
  }
}

const documentsIn = ({ documents }: Fields): readonly unknown[] =>
  Array.isArray(documents) ? documents : []
const unitsOf = (request: Fields): number =>
  Math.max(1, Math.ceil(documentsIn(request).length / DOCUMENTS_PER_UNIT))

/** Each document is read together with the query. */
const estimate = (request: Fields): number => {
  const documents = documentsIn(request)
  const bytes =
    bytesOf(request.query) * documents.length +
    documents.reduce<number>((sum, each) => sum + bytesOf(each), 0)
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}
const bytesOf = (value: unknown): number =>
  Buffer.byteLength(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
