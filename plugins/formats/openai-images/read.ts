/** A client's request for images. */
import type { Loss, TargetFacts } from '../codec.ts'
import type { Media } from '../content.ts'
import { fault } from '../faults.ts'
import { element, type Fields, flagIn, listIn, need, numberIn, textIn } from '../fields.ts'
import type { Prompt } from '../hub.ts'
import { parseDataUrl } from '../media.ts'
import { mostOf } from './write.ts'

/** Hub name -> name in this format. */
export const SETTINGS = { candidates: 'n', user: 'user' } as const

const READ: ReadonlySet<string> = new Set(['model', 'prompt', 'n', 'user', 'images', 'stream'])

export const decodePrompt = (body: Fields, _path: string, loss: Loss): Prompt => {
  for (const key in body) if (!READ.has(key) && body[key] !== null) loss.drop(key)
  for (const key of ['image', 'mask'])
    if (body[key] !== undefined && body[key] !== null)
      throw fault('CONTENT_UNSUPPORTED', [key, 'a file'], { param: key })
  const text = need(textIn(body, 'prompt'), 'prompt')
  const candidates = numberIn(body, 'n')
  const user = textIn(body, 'user')
  return {
    turns: [{ role: 'user', content: [{ type: 'text', text }, ...readImages(body)] }],
    tools: [],
    settings: { ...(candidates !== undefined && { candidates }), ...(user && { user }) },
    stream: flagIn(body, 'stream') ?? false,
    counts: true,
    body,
  }
}
/** `images: [{image_url}]`, of requests for a change that are JSON. */
const readImages = (body: Fields): readonly Media[] =>
  (listIn(body, 'images') ?? []).map((given, index) => {
    const at = `images[${index}]`
    const image = element(given, at)
    if (image.file_id !== undefined)
      throw fault('CONTENT_UNSUPPORTED', [at, 'an image by its file'], { param: at })
    const url = need(textIn(image, 'image_url', `${at}.image_url`), `${at}.image_url`)
    return { type: 'media', kind: 'image', source: parseDataUrl(url) ?? { type: 'url', url }, at }
  })

/** More images than this target draws in one call. */
export const needsReading = ({ n }: Fields, traits: TargetFacts['traits']): boolean =>
  typeof n === 'number' && n > mostOf(traits)
