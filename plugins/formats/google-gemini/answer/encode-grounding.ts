/** Encodes citations and hosted calls as Google's grounding metadata for a client. */
import type { Json } from '../../../../engine/plugin.ts'
import { type Fields, isFields, omitUndefined } from '../../fields.ts'
import { Offsets } from '../../google/offsets.ts'
import type { Citation, HostedCall } from '../../hub/content.ts'

/** The grounding of one candidate. Receives all text, so that offsets refer to the whole of it. */
export class Grounding {
  readonly #text = new Offsets()
  #blockStart = 0
  /** Citations of the current block; their default end is the block's end. */
  #blockCitations: Citation[] = []
  readonly #chunks: Fields[] = []
  /** Key of a source -> its index. */
  readonly #sourceIndices = new Map<string, number>()
  readonly #supports = new Map<
    string,
    { readonly segment: Fields; readonly sources: Set<number> }
  >()
  readonly #queries: string[] = []
  readonly #retrievals: string[] = []
  readonly #urls: Fields[] = []

  beginBlock(): void {
    this.#blockStart = this.#text.units
  }
  add(text: string): void {
    this.#text.add(text)
  }
  cite(citation: Citation): void {
    this.#blockCitations.push(citation)
  }
  endBlock(): void {
    for (const citation of this.#blockCitations) this.#addSupport(citation)
    this.#blockCitations = []
  }
  addHostedCall({ tool, input, sources = [], error }: HostedCall): void {
    const record = RECORD_METHODS[tool]
    if (record) this[record](queriesOf(input), input, error)
    for (const citation of sources) this.#indexOfSource(citation, citation.quote)
  }
  /** Fields of a candidate. */
  get metadata(): Fields {
    this.endBlock()
    const supports = [...this.#supports.values()].map(({ segment, sources }) => ({
      segment,
      groundingChunkIndices: [...sources],
    }))
    const grounding = omitUndefined({
      webSearchQueries: omitEmpty(this.#queries),
      retrievalQueries: omitEmpty(this.#retrievals),
      groundingChunks: omitEmpty(this.#chunks),
      groundingSupports: omitEmpty(supports),
    })
    return omitUndefined({
      groundingMetadata: Object.keys(grounding).length > 0 ? grounding : undefined,
      urlContextMetadata: this.#urls.length > 0 ? { urlMetadata: this.#urls } : undefined,
    })
  }
  addSearch(queries: readonly string[]): void {
    this.#queries.push(...queries)
  }
  addRetrieval(queries: readonly string[]): void {
    this.#retrievals.push(...queries)
  }
  addFetch(_: readonly string[], input: Json, error: string | undefined): void {
    const { url } = isFields(input) ? input : {}
    if (typeof url !== 'string') return
    const urlRetrievalStatus = `URL_RETRIEVAL_STATUS_${error === undefined ? 'SUCCESS' : 'ERROR'}`
    this.#urls.push({ retrievedUrl: url, urlRetrievalStatus })
  }
  #addSupport(citation: Citation): void {
    const { start, end, quote } = citation
    const blockStart = this.#blockStart
    const startIndex = this.#text.byteAt(blockStart + (start ?? 0))
    const endIndex = this.#text.byteAt(end === undefined ? this.#text.units : blockStart + end)
    // A quote without offsets comes from the source, one with offsets from the answer.
    const hasOffsets = start !== undefined
    const number = this.#indexOfSource(citation, hasOffsets ? undefined : quote)
    const key = `${startIndex} ${endIndex}`
    const support = this.#supports.get(key)
    if (support) return void support.sources.add(number)
    const segment = omitUndefined({
      startIndex: startIndex > 0 ? startIndex : undefined,
      endIndex,
      text: hasOffsets ? quote : undefined,
    })
    this.#supports.set(key, { segment, sources: new Set([number]) })
  }
  #indexOfSource(citation: Citation, text: string | undefined): number {
    const { url, file, title, document } = citation
    const key = url ?? file ?? `${document} ${title}`
    const existing = this.#sourceIndices.get(key)
    const number = existing ?? this.#chunks.length
    if (existing === undefined || text !== undefined) this.#chunks[number] = chunkOf(citation, text)
    this.#sourceIndices.set(key, number)
    return number
  }
}
const RECORD_METHODS: Readonly<
  Partial<Record<HostedCall['tool'], 'addSearch' | 'addRetrieval' | 'addFetch'>>
> = {
  web_search: 'addSearch',
  file_search: 'addRetrieval',
  web_fetch: 'addFetch',
  url_context: 'addFetch',
}
const omitEmpty = (list: readonly Json[]): Json | undefined => (list.length > 0 ? list : undefined)

const queriesOf = (input: Json): readonly string[] => {
  if (typeof input === 'string') return [input]
  if (!isFields(input)) return []
  const { query, queries } = input
  const candidates = Array.isArray(queries) ? queries : [query]
  return candidates.filter((each): each is string => typeof each === 'string' && each !== '')
}
const chunkOf = ({ url, title, file, document }: Citation, text: string | undefined): Fields => {
  if (url !== undefined && file === undefined) return { web: omitUndefined({ uri: url, title }) }
  const store = file?.includes('fileSearchStores/')
  return {
    retrievedContext: omitUndefined({
      uri: url,
      title: title ?? (document === undefined ? undefined : `document ${document}`),
      text,
      fileSearchStore: store ? file : undefined,
      documentName: store ? undefined : file,
    }),
  }
}
