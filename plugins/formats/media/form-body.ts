/** Converts a multipart form with its files to the equivalent JSON body, for requests that must be
 *  translated. */
import type { Bytes, Json } from '../../../engine/plugin.ts'
import type { Fields } from '../fields.ts'
import { imageMimeOf } from '../images/image-answer.ts'
import { dataUrl } from './media.ts'
import { partsIn } from './multipart.ts'

/** `body`: the text fields of the form. Each file becomes `{image_url}`, as in JSON edit
 *  requests. */
export const addFormFiles = (body: Fields, bytes: Bytes, boundary: string): Fields => {
  const files = new Map<string, Json[]>()
  for (const part of partsIn(bytes, boundary) ?? []) {
    if (!part.file) continue
    const name = part.name.replace(/\[\]$/, '')
    const base64 = Buffer.from(bytes.subarray(part.start, part.end)).toString('base64')
    const mime = part.type?.startsWith('image/') ? part.type : imageMimeOf(base64)
    const file = { image_url: dataUrl({ type: 'data', data: base64, mime }) }
    files.set(name, [...(files.get(name) ?? []), file])
  }
  return { ...body, ...Object.fromEntries(files) }
}
