/** Converts citations. In this format a citation covers its whole block, which is why answers come
 *  in many blocks. */
import type { Fields } from '../../fields.ts'
import type { Citation } from '../../hub/content.ts'
import { decodePayload, encodePayload } from '../../hub/opaque-payload.ts'
import { parseObject } from '../cache.ts'
import {
  type FieldPath,
  listIn,
  memberPath,
  NAME,
  numberIn,
  objectsIn,
  textIn,
} from '../members.ts'

const WEB_CITATION = 'web_search_result_location'

export const readCitation = (citation: Fields, at: FieldPath): Citation => {
  const type = textIn(citation, 'type', at) ?? ''
  const title = textIn(
    citation,
    type === WEB_CITATION || 'title' in citation ? 'title' : 'document_title',
    at,
  )
  const quote = textIn(citation, 'cited_text', at)
  const labels = {
    ...(title !== undefined && { title }),
    ...(quote !== undefined && { quote }),
  }
  if (type === WEB_CITATION) return { ...labels, ...readPage(citation, 'encrypted_index', at) }
  const document = numberIn(citation, 'document_index', at)
  const file = textIn(citation, 'file_id', at)
  const source = textIn(citation, 'source', at)
  return {
    ...labels,
    ...(document !== undefined && { document }),
    ...(file !== undefined && { file }),
    ...(source !== undefined && /^https?:/.test(source) && { url: source }),
    // The location inside the document, which no other format can express.
    payload: { origin: NAME, kind: type, data: JSON.stringify(citation) },
  }
}

/** A page with the provider's opaque reference to it. */
export const readPage = (fields: Fields, key: string, at: FieldPath): Citation => {
  const url = textIn(fields, 'url', at)
  const reference = textIn(fields, key, at)
  return {
    ...(url !== undefined && { url }),
    ...(reference && { payload: decodePayload(NAME, reference) }),
  }
}

export const readCitations = (
  block: Fields,
  at: FieldPath,
): { readonly citations?: readonly Citation[] } => {
  const entries = objectsIn(listIn(block, 'citations', at) ?? [], memberPath(at, 'citations'))
  if (entries.length === 0) return {}
  return { citations: entries.map(each => readCitation(each.fields, each.at)) }
}

/** The citation as this format's provider sent it; undefined for other providers. */
export const ownCitation = (citation: Citation): Fields | undefined => {
  const { payload } = citation
  if (payload?.origin !== NAME) return undefined
  return payload.kind === undefined ? webCitation(citation) : parseObject(payload.data)
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
  encrypted_index: payload ? encodePayload(NAME, payload) : '',
  title: title ?? url,
  url,
})
