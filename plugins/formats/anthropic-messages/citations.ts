/** Converts citations. In this format a citation covers its whole block, which is why answers come
 *  in many blocks. */
import type { Citation } from '../content.ts'
import type { Fields } from '../fields.ts'
import { sealedFor, unsealed } from '../seal.ts'
import { parsedObject } from './cache.ts'
import { list, number, OWN, objects, type Place, text, within } from './read.ts'

const WEB_CITATION = 'web_search_result_location'

export const readCitation = (citation: Fields, at: Place): Citation => {
  const type = text(citation, 'type', at) ?? ''
  const title = text(
    citation,
    type === WEB_CITATION || 'title' in citation ? 'title' : 'document_title',
    at,
  )
  const quote = text(citation, 'cited_text', at)
  const labels = {
    ...(title !== undefined && { title }),
    ...(quote !== undefined && { quote }),
  }
  if (type === WEB_CITATION) return { ...labels, ...readFound(citation, 'encrypted_index', at) }
  const document = number(citation, 'document_index', at)
  const file = text(citation, 'file_id', at)
  const source = text(citation, 'source', at)
  return {
    ...labels,
    ...(document !== undefined && { document }),
    ...(file !== undefined && { file }),
    ...(source !== undefined && /^https?:/.test(source) && { url: source }),
    // The location inside the document, which no other format can express.
    payload: { origin: OWN, kind: type, data: JSON.stringify(citation) },
  }
}

/** A page with the provider's opaque reference to it. */
export const readFound = (fields: Fields, key: string, at: Place): Citation => {
  const url = text(fields, 'url', at)
  const reference = text(fields, key, at)
  return {
    ...(url !== undefined && { url }),
    ...(reference && { payload: unsealed(OWN, reference) }),
  }
}

export const readCitations = (
  block: Fields,
  at: Place,
): { readonly citations?: readonly Citation[] } => {
  const entries = objects(list(block, 'citations', at) ?? [], within(at, 'citations'))
  if (entries.length === 0) return {}
  return { citations: entries.map(each => readCitation(each.fields, each.at)) }
}

/** The citation as this format's provider sent it; undefined for other providers. */
export const ownCitation = (citation: Citation): Fields | undefined => {
  const { payload } = citation
  if (payload?.origin !== OWN) return undefined
  return payload.kind === undefined ? webCitation(citation) : parsedObject(payload.data)
}

/** Encodes a citation of any provider for a client. */
export const writeCitation = (citation: Citation): Fields => {
  const ownFields = ownCitation(citation)
  if (ownFields) return ownFields
  if (citation.url !== undefined) return webCitation(citation)
  const { document = 0, title, quote = '', file } = citation
  return {
    type: 'char_location',
    cited_text: quote,
    document_index: document,
    document_title: title ?? null,
    start_char_index: 0,
    end_char_index: 0,
    file_id: file ?? null,
  }
}
const webCitation = ({ url = '', title, quote = '', payload }: Citation): Fields => ({
  type: WEB_CITATION,
  cited_text: quote,
  encrypted_index: payload ? sealedFor(OWN, payload) : '',
  title: title ?? null,
  url,
})
