/** Converts citations to and from text annotations. Offsets are the upstream's and count characters
 *  of its text. */
import { count, type Fields, lenientText } from '../fields.ts'
import type { Citation } from '../hub/content.ts'

export const citationOf = (annotation: Fields): Citation => {
  const { index, start_index: start = index, end_index: end = index } = annotation
  const url = lenientText(annotation, 'url')
  const file = lenientText(annotation, 'file_id')
  const title = lenientText(annotation, 'title') ?? lenientText(annotation, 'filename')
  return {
    ...(url !== undefined && { url }),
    ...(file !== undefined && { file }),
    ...(title !== undefined && { title }),
    ...(typeof start === 'number' && { start }),
    ...(typeof end === 'number' && { end }),
  }
}

/** `from`, `to`: the span of the text; a citation without offsets covers all of it. */
export const annotationOf = (citation: Citation, from: number, to: number): Fields => {
  const { url, title = '', file, document } = citation
  const start = citation.start === undefined ? from : from + count(citation.start)
  const end = citation.end === undefined ? to : from + count(citation.end)
  if (url !== undefined)
    return { type: 'url_citation', url, title, start_index: start, end_index: end }
  const id = file ?? `document_${document ?? 0}`
  return { type: 'file_citation', file_id: id, filename: title, index: end }
}
