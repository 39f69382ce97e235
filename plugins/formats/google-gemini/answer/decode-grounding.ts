/** Decodes grounding, URL context and recitations of an answer to citations and hosted calls. */
import type { Json } from '../../../../engine/plugin.ts'
import { type Fields, isFields, lenientObject, lenientObjects, lenientText } from '../../fields.ts'
import type { Citation, HostedCall } from '../../hub/content.ts'

/** A span of the answer's whole text in bytes; absent if unknown. */
interface Span {
  readonly start?: number
  readonly end?: number
}
type SpanCitation = readonly [citation: Citation, where: Span]

/** Each source of each span. */
export const citationsIn = (candidate: Fields): readonly SpanCitation[] => [
  ...groundingCitations(lenientObject(candidate, 'groundingMetadata')),
  ...recitationCitations(lenientObject(candidate, 'citationMetadata')),
]
const groundingCitations = (grounding: Fields): readonly SpanCitation[] => {
  const chunks = Array.isArray(grounding.groundingChunks) ? grounding.groundingChunks : []
  return lenientObjects(grounding, 'groundingSupports').flatMap(support => {
    const segment = lenientObject(support, 'segment')
    const quote = lenientText(segment, 'text')
    const { groundingChunkIndices: indices } = support
    return (Array.isArray(indices) ? indices : []).flatMap((index): readonly SpanCitation[] => {
      const source = sourceOf(chunks[Number(index)])
      if (!source) return []
      return [[{ ...source, ...(quote !== undefined && { quote }) }, spanOf(segment)]]
    })
  })
}
const spanOf = ({ startIndex, endIndex }: Fields): Span =>
  typeof endIndex === 'number'
    ? { start: typeof startIndex === 'number' ? startIndex : 0, end: endIndex }
    : {}

/** `{web | maps: {uri, title}}` or `{retrievedContext: {uri, title, text, fileSearchStore}}` */
const sourceOf = (chunk: Json | undefined): Citation | undefined => {
  if (!isFields(chunk)) return undefined
  const { web, maps, retrievedContext } = chunk
  const page = isFields(web) ? web : maps
  if (isFields(page)) return pageCitation(lenientText(page, 'uri'), lenientText(page, 'title'))
  if (!isFields(retrievedContext)) return undefined
  const uri = lenientText(retrievedContext, 'uri')
  const file =
    lenientText(retrievedContext, 'fileSearchStore') ??
    lenientText(retrievedContext, 'documentName') ??
    uri
  const url = uri?.startsWith('http') ? uri : undefined
  return {
    ...pageCitation(url, lenientText(retrievedContext, 'title')),
    ...(file !== undefined && { file }),
  }
}
const pageCitation = (url: string | undefined, title: string | undefined): Citation => ({
  ...(url !== undefined && { url }),
  ...(title !== undefined && { title }),
})
const recitationCitations = (metadata: Fields): readonly SpanCitation[] =>
  [...lenientObjects(metadata, 'citationSources'), ...lenientObjects(metadata, 'citations')].map(
    source => [
      pageCitation(lenientText(source, 'uri'), lenientText(source, 'title')),
      spanOf(source),
    ],
  )

// ---------------------------------------------------------------- hosted calls
// Calls without parts of their own.

/** `id`: makes an id for each call. */
export const hostedCallsIn = (candidate: Fields, id: () => string): readonly HostedCall[] => {
  const grounding = lenientObject(candidate, 'groundingMetadata')
  return [
    ...searchCallsIn(grounding, id),
    ...retrievalCallsIn(grounding, id),
    ...fetchCallsIn(lenientObject(candidate, 'urlContextMetadata'), id),
  ]
}
const textsIn = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter(each => typeof each === 'string' && each !== '') : []

const searchCallsIn = (grounding: Fields, id: () => string): readonly HostedCall[] => {
  const queries = textsIn(grounding.webSearchQueries)
  const sources = pagesIn(grounding, chunk => isFields(chunk.web))
  if (queries.length === 0 && sources.length === 0) return []
  const [query = ''] = queries
  const input = queries.length > 1 ? { query, queries } : { query }
  return [{ type: 'hostedCall', tool: 'web_search', id: id(), input, sources }]
}
const retrievalCallsIn = (grounding: Fields, id: () => string): readonly HostedCall[] => {
  const queries = textsIn(grounding.retrievalQueries)
  const sources = pagesIn(grounding, chunk => isFields(chunk.retrievedContext))
  if (queries.length === 0 && sources.length === 0) return []
  return [{ type: 'hostedCall', tool: 'file_search', id: id(), input: { queries }, sources }]
}
const pagesIn = (grounding: Fields, matches: (chunk: Fields) => boolean): readonly Citation[] =>
  lenientObjects(grounding, 'groundingChunks')
    .filter(matches)
    .flatMap(chunk => {
      const quote = lenientText(lenientObject(chunk, 'retrievedContext'), 'text')
      const source = sourceOf(chunk)
      return source ? [{ ...source, ...(quote !== undefined && { quote }) }] : []
    })
const STATUS_SUCCESS = 'URL_RETRIEVAL_STATUS_SUCCESS'
const fetchCallsIn = (metadata: Fields, id: () => string): readonly HostedCall[] =>
  lenientObjects(metadata, 'urlMetadata').flatMap(each => {
    const url = lenientText(each, 'retrievedUrl')
    if (url === undefined) return []
    const status = lenientText(each, 'urlRetrievalStatus') ?? STATUS_SUCCESS
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
