/** Decodes grounding, URL context and recitations of an answer to citations and hosted calls. */
import type { Json } from '../../../engine/plugin.ts'
import type { Citation, Work } from '../content.ts'
import { type Fields, inner, isFields, itemsIn, wordIn } from '../fields.ts'

/** A span of the answer's whole text in bytes; absent if unknown. */
interface Stretch {
  readonly start?: number
  readonly end?: number
}
type Cited = readonly [citation: Citation, where: Stretch]

/** Each source of each span. */
export const citationsIn = (candidate: Fields): readonly Cited[] => [
  ...grounded(inner(candidate, 'groundingMetadata')),
  ...recited(inner(candidate, 'citationMetadata')),
]
const grounded = (grounding: Fields): readonly Cited[] => {
  const chunks = Array.isArray(grounding.groundingChunks) ? grounding.groundingChunks : []
  return itemsIn(grounding, 'groundingSupports').flatMap(support => {
    const segment = inner(support, 'segment')
    const quote = wordIn(segment, 'text')
    const { groundingChunkIndices: indices } = support
    return (Array.isArray(indices) ? indices : []).flatMap((index): readonly Cited[] => {
      const source = sourceOf(chunks[Number(index)])
      if (!source) return []
      return [[{ ...source, ...(quote !== undefined && { quote }) }, stretchOf(segment)]]
    })
  })
}
const stretchOf = ({ startIndex, endIndex }: Fields): Stretch =>
  typeof endIndex === 'number'
    ? { start: typeof startIndex === 'number' ? startIndex : 0, end: endIndex }
    : {}

/** `{web | maps: {uri, title}}` or `{retrievedContext: {uri, title, text, fileSearchStore}}` */
const sourceOf = (chunk: Json | undefined): Citation | undefined => {
  if (!isFields(chunk)) return undefined
  const { web, maps, retrievedContext: retrieved } = chunk
  const page = isFields(web) ? web : maps
  if (isFields(page)) return named(wordIn(page, 'uri'), wordIn(page, 'title'))
  if (!isFields(retrieved)) return undefined
  const uri = wordIn(retrieved, 'uri')
  const file = wordIn(retrieved, 'fileSearchStore') ?? wordIn(retrieved, 'documentName') ?? uri
  const url = uri?.startsWith('http') ? uri : undefined
  return { ...named(url, wordIn(retrieved, 'title')), ...(file !== undefined && { file }) }
}
const named = (url: string | undefined, title: string | undefined): Citation => ({
  ...(url !== undefined && { url }),
  ...(title !== undefined && { title }),
})
const recited = (metadata: Fields): readonly Cited[] =>
  [...itemsIn(metadata, 'citationSources'), ...itemsIn(metadata, 'citations')].map(source => [
    named(wordIn(source, 'uri'), wordIn(source, 'title')),
    stretchOf(source),
  ])

// ---------------------------------------------------------------- hosted calls without parts of
// their own

/** `id`: makes an id for each call. */
export const worksIn = (candidate: Fields, id: () => string): readonly Work[] => {
  const grounding = inner(candidate, 'groundingMetadata')
  return [
    ...searched(grounding, id),
    ...retrieved(grounding, id),
    ...fetched(inner(candidate, 'urlContextMetadata'), id),
  ]
}
const texts = (given: Json | undefined): readonly string[] =>
  Array.isArray(given) ? given.filter(each => typeof each === 'string' && each !== '') : []

const searched = (grounding: Fields, id: () => string): readonly Work[] => {
  const queries = texts(grounding.webSearchQueries)
  const found = pages(grounding, chunk => isFields(chunk.web))
  if (queries.length === 0 && found.length === 0) return []
  const [query = ''] = queries
  const input = queries.length > 1 ? { query, queries } : { query }
  return [{ type: 'work', tool: 'web_search', id: id(), input, found }]
}
const retrieved = (grounding: Fields, id: () => string): readonly Work[] => {
  const queries = texts(grounding.retrievalQueries)
  const found = pages(grounding, chunk => isFields(chunk.retrievedContext))
  if (queries.length === 0 && found.length === 0) return []
  return [{ type: 'work', tool: 'file_search', id: id(), input: { queries }, found }]
}
const pages = (grounding: Fields, fits: (chunk: Fields) => boolean): readonly Citation[] =>
  itemsIn(grounding, 'groundingChunks')
    .filter(fits)
    .flatMap(chunk => {
      const quote = wordIn(inner(chunk, 'retrievedContext'), 'text')
      const source = sourceOf(chunk)
      return source ? [{ ...source, ...(quote !== undefined && { quote }) }] : []
    })
const FETCHED = 'URL_RETRIEVAL_STATUS_SUCCESS'
const fetched = (metadata: Fields, id: () => string): readonly Work[] =>
  itemsIn(metadata, 'urlMetadata').flatMap(each => {
    const url = wordIn(each, 'retrievedUrl')
    if (url === undefined) return []
    const status = wordIn(each, 'urlRetrievalStatus') ?? FETCHED
    const failed = status !== FETCHED && { failed: status }
    return [
      { type: 'work', tool: 'url_context', id: id(), input: { url }, found: [{ url }], ...failed },
    ]
  })
