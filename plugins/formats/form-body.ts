/** A form as the JSON that it means, its files with it: for a request that has to be read. */
import type { Bytes, Json } from '../../engine/plugin.ts'
import { mimeOf } from './drawn.ts'
import type { Fields } from './fields.ts'
import { dataUrl } from './media.ts'
import { partsIn } from './multipart.ts'

/** `body`: what is known of it already. Each file is `{image_url}`, as requests for a change name images that are JSON. */
export const withFiles = (body: Fields, bytes: Bytes, boundary: string): Fields => {
  const files = new Map<string, Json[]>()
  for (const part of partsIn(bytes, boundary) ?? []) {
    if (!part.file) continue
    const name = part.name.replace(/\[\]$/, '')
    const base64 = Buffer.from(bytes.subarray(part.start, part.end)).toString('base64')
    const mime = part.type?.startsWith('image/') ? part.type : mimeOf(base64)
    const file = { image_url: dataUrl({ type: 'data', data: base64, mime }) }
    files.set(name, [...(files.get(name) ?? []), file])
  }
  return { ...body, ...Object.fromEntries(files) }
}
