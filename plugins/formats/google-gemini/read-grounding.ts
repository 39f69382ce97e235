/** Decodes grounding, URL context and recitations of an answer to citations and hosted calls. */
import type { Json } from '../../../engine/plugin.ts'
import type { Citation, Work } from '../content.ts'
import { type Fields, inner, isFields, itemsIn, wordIn } from '../fields.ts'

/** A span of the answer's whole text in bytes; absent if unknown. */
interface Span {
  readonly start?: number
  readonly end?: number
}
type SpanCitation = readonly [citation: Citation, where: Span]

/** Each source of each span. */
export const citationsIn = (candidate: Fields): readonly SpanCitation[] => [
  ...groundingCitations(inner(candidate, 'groundingMetadata')),
  ...recitations(inner(candidate, 'citationMetadata')),
]
const groundingCitations = (grounding: Fields): readonly SpanCitation[] => {
  const chunks = Array.isArray(grounding.groundingChunks) ? grounding.groundingChunks : []
  return itemsIn(grounding, 'groundingSupports').flatMap(support => {
    const segment = inner(support, 'segment')
    const quote = wordIn(segment, 'text')
    const { groundingChunkIndices: indices } = support
    return (Array.isArray(indices) ? indices : []).flatMap((index): readonly SpanCitation[] => {
      const source = sourceOf(chunks[Number(index)])
      if (!source) return []
      return [[{ ...source, ...(quote !== undefined && { quote }) }, stretchOf(segment)]]
    })
  })
}
const stretchOf = ({ startIndex, endIndex }: Fields): Span =>
  typeof endIndex === 'number'
    ? { start: typeof startIndex === 'number' ? startIndex : 0, end: endIndex }
    : {}

/** `{web | maps: {uri, title}}` or `{retrievedContext: {uri, title, text, fileSearchStore}}` */
const sourceOf = (chunk: Json | undefined): Citation | undefined => {
  if (!isFields(chunk)) return undefined
  const { web, maps, retrievedContext } = chunk
  const page = isFields(web) ? web : maps
  if (isFields(page)) return pageCitation(wordIn(page, 'uri'), wordIn(page, 'title'))
  if (!isFields(retrievedContext)) return undefined
  const uri = wordIn(retrievedContext, 'uri')
  const file =
    wordIn(retrievedContext, 'fileSearchStore') ?? wordIn(retrievedContext, 'documentName') ?? uri
  const url = uri?.startsWith('http') ? uri : undefined
  return {
    ...pageCitation(url, wordIn(retrievedContext, 'title')),
    ...(file !== undefined && { file }),
  }
}
const pageCitation = (url: string | undefined, title: string | undefined): Citation => ({
  ...(url !== undefined && { url }),
  ...(title !== undefined && { title }),
})
const recitations = (metadata: Fields): readonly SpanCitation[] =>
  [...itemsIn(metadata, 'citationSources'), ...itemsIn(metadata, 'citations')].map(source => [
    pageCitation(wordIn(source, 'uri'), wordIn(source, 'title')),
    stretchOf(source),
  ])

// ---------------------------------------------------------------- hosted calls without parts of
// their own

/** `id`: makes an id for each call. */
export const worksIn = (candidate: Fields, id: () => string): readonly Work[] => {
  const grounding = inner(candidate, 'groundingMetadata')
  return [
    ...searchCalls(grounding, id),
    ...retrievalCalls(grounding, id),
    ...fetchCalls(inner(candidate, 'urlContextMetadata'), id),
  ]
}
const texts = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter(each => typeof each === 'string' && each !== '') : []

const searchCalls = (grounding: Fields, id: () => string): readonly Work[] => {
  const queries = texts(grounding.webSearchQueries)
  const sources = pages(grounding, chunk => isFields(chunk.web))
  if (queries.length === 0 && sources.length === 0) return []
  const [query = ''] = queries
  const input = queries.length > 1 ? { query, queries } : { query }
  return [{ type: 'hostedCall', tool: 'web_search', id: id(), input, sources }]
}
const retrievalCalls = (grounding: Fields, id: () => string): readonly Work[] => {
  const queries = texts(grounding.retrievalQueries)
  const sources = pages(grounding, chunk => isFields(chunk.retrievedContext))
  if (queries.length === 0 && sources.length === 0) return []
  return [{ type: 'hostedCall', tool: 'file_search', id: id(), input: { queries }, sources }]
}
const pages = (grounding: Fields, matches: (chunk: Fields) => boolean): readonly Citation[] =>
  itemsIn(grounding, 'groundingChunks')
    .filter(matches)
    .flatMap(chunk => {
      const quote = wordIn(inner(chunk, 'retrievedContext'), 'text')
      const source = sourceOf(chunk)
      return source ? [{ ...source, ...(quote !== undefined && { quote }) }] : []
    })
const STATUS_SUCCESS = 'URL_RETRIEVAL_STATUS_SUCCESS'
const fetchCalls = (metadata: Fields, id: () => string): readonly Work[] =>
  itemsIn(metadata, 'urlMetadata').flatMap(each => {
    const url = wordIn(each, 'retrievedUrl')
    if (url === undefined) return []
    const status = wordIn(each, 'urlRetrievalStatus') ?? STATUS_SUCCESS
    const error = status !== STATUS_SUCCESS && { error: status }
    return [
      {
        type: 'hostedCall',
        tool: 'url_context',
        id: id(),
        input: { url },
        sources: [{ url }],
        ...error,
      },
    ]
  })
