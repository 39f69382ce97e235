/** Decodes a client's image request. */
import type { Json } from '../../../engine/plugin.ts'
import {
  type Fields,
  flagIn,
  listIn,
  numberIn,
  requireMember,
  requireObject,
  textIn,
} from '../fields.ts'
import type { DroppedFields, TargetFacts } from '../hub/codec.ts'
import type { Media } from '../hub/content.ts'
import type { Prompt } from '../hub/prompt.ts'
import { imageFormatIn } from '../images/image-prompt.ts'
import { OPENAI_FILES, parseDataUrl } from '../media/media.ts'
import { imagesPerCall } from './write.ts'

/** Hub name -> name in this format. */
export const SETTINGS = { candidates: 'n', user: 'user' } as const

const DECODED_FIELDS: ReadonlySet<string> = new Set([
  'model',
  'prompt',
  'n',
  'user',
  'images',
  'stream',
  'image',
  'mask',
])

export const decodePrompt = (body: Fields, _path: string, dropped: DroppedFields): Prompt => {
  for (const key in body) if (!DECODED_FIELDS.has(key) && body[key] !== null) dropped.add(key)
  const text = requireMember(textIn(body, 'prompt'), 'prompt')
  const candidates = numberIn(body, 'n')
  const user = textIn(body, 'user')
  return {
    turns: [{ role: 'user', content: [{ type: 'text', text }, ...imagesIn(body)] }],
    tools: [],
    settings: { ...(candidates !== undefined && { candidates }), ...(user && { user }) },
    stream: flagIn(body, 'stream') ?? false,
    includeUsage: true,
    body,
  }
}
/** `images: [{image_url}]` and `mask: {image_url}` of JSON edit requests, and the files of a
 *  form. */
const imagesIn = (body: Fields): readonly Media[] => {
  const masks = Array.isArray(body.mask) ? body.mask : [body.mask]
  return [
    ...(listIn(body, 'images') ?? []).map((each, index) => readImage(each, `images[${index}]`)),
    ...(listIn(body, 'image') ?? []).map((each, index) =>
      readImage(each, fieldName('image', index)),
    ),
    ...masks.flatMap((each: Json | undefined, index: number) =>
      each === undefined || each === null
        ? []
        : [{ ...readImage(each, fieldName('mask', index)), isMask: true }],
    ),
  ]
}
/** The first file of a name has no index. */
const fieldName = (name: string, index: number): string =>
  index === 0 ? name : `${name}[${index}]`
const readImage = (value: Json, at: string): Media => {
  const image = requireObject(value, at)
  const file = textIn(image, 'file_id', `${at}.file_id`)
  if (file !== undefined)
    return {
      type: 'media',
      kind: 'image',
      source: { type: 'file', file, origin: OPENAI_FILES },
      at,
    }
  const url = requireMember(textIn(image, 'image_url', `${at}.image_url`), `${at}.image_url`)
  return { type: 'media', kind: 'image', source: parseDataUrl(url) ?? { type: 'url', url }, at }
}

/** True for more images than the target generates in one call, an edit on a target without edits,
 *  or a form of images that the target cannot choose: translation splits, rejects or converts. */
export const needsTranslation = (body: Fields, traits: TargetFacts['traits']): boolean =>
  (typeof body.n === 'number' && body.n > imagesPerCall(traits)) ||
  (traits.image_urls === false && imageFormatIn(body) !== undefined) ||
  (traits.edits === false && IMAGE_FIELDS.some(key => (body[key] ?? null) !== null))
const IMAGE_FIELDS = ['images', 'image', 'mask'] as const
