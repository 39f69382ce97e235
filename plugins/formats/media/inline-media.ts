/** Refuses requests whose inline media are not base64. */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import { isFields } from '../fields.ts'
import type { Media } from '../hub/content.ts'
import { isBase64, isBrokenDataUrl } from './base64.ts'

/** Throws DATA_BROKEN. */
export const checkInlineMedia = (media: readonly Media[]): void => {
  for (const { source, at = 'messages' } of media) {
    const isBroken =
      source.type === 'data'
        ? !isBase64(source.data)
        : source.type === 'url' && source.url.startsWith('data:')
    if (isBroken) throw fault('DATA_BROKEN', [at], { param: at })
  }
}
/** The same for the data URLs of a request whose members are not known. */
export const checkDataUrls = (body: Json): void => {
  const queue: (readonly [value: Json, at: string])[] = [[body, '']]
  for (let next = queue.pop(); next; next = queue.pop()) {
    const [value, at] = next
    if (typeof value === 'string' && isBrokenDataUrl(value))
      throw fault('DATA_BROKEN', [at], { param: at })
    if (Array.isArray(value))
      for (const [index, each] of value.entries()) queue.push([each, `${at}[${index}]`])
    else if (isFields(value))
      for (const [name, each] of Object.entries(value))
        queue.push([each, at === '' ? name : `${at}.${name}`])
  }
}
