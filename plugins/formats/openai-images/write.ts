/** Encodes an image request for a target: JSON for generation, a form with files for edits. */
import { type Fields, omitUndefined } from '../fields.ts'
import type { DroppedFields, ImageGeneration, TargetFacts, UpstreamRequest } from '../hub/codec.ts'
import type { Media } from '../hub/content.ts'
import type { Prompt } from '../hub/prompt.ts'
import {
  batchSizes,
  fileName,
  imageFileOf,
  imageRequestOf,
  MAX_IMAGES,
  pickFields,
  toImagePrompt,
} from '../images/image-prompt.ts'
import { writeForm } from '../media/multipart.ts'

export const ACCEPTED_FIELDS: ReadonlySet<string> = new Set([
  'size',
  'quality',
  'style',
  'background',
  'output_format',
  'output_compression',
  'moderation',
  'input_fidelity',
  'response_format',
])
export const reducePrompt: ImageGeneration['reducePrompt'] = toImagePrompt

/** The number of images that the target generates in one call (1 for some models). */
export const imagesPerCall = (traits: TargetFacts['traits']): number =>
  typeof traits.images === 'number' && traits.images >= 1 ? Math.floor(traits.images) : MAX_IMAGES

export const encodePrompt = (
  prompt: Prompt,
  { name, traits }: TargetFacts,
  _: DroppedFields,
): UpstreamRequest => {
  const { text, images, mask, count } = imageRequestOf(prompt)
  const { user } = prompt.settings
  const members = omitUndefined({
    model: name,
    prompt: text,
    ...pickFields(prompt.body, ACCEPTED_FIELDS),
    ...(traits.image_urls === false && { response_format: undefined }),
    user,
  })
  const [first = 1, ...rest] = batchSizes(count, imagesPerCall(traits))
  const requestFor = (n: number): UpstreamRequest =>
    images.length > 0
      ? editRequest({ ...members, n }, images, mask)
      : { path: '/v1/images/generations', body: { ...members, n } }
  return { ...requestFor(first), followUps: rest.map(requestFor) }
}

const editRequest = (
  members: Fields,
  images: readonly Media[],
  mask: Media | undefined,
): UpstreamRequest => {
  const fields = Object.entries(members).map(([key, value]) => [key, String(value)] as const)
  const files = images.map((image, index) => {
    const { bytes, type } = imageFileOf(image)
    const file = fileName(`image-${index + 1}`, type)
    return { name: images.length > 1 ? 'image[]' : 'image', file, type, bytes }
  })
  if (mask) {
    const { bytes, type } = imageFileOf(mask)
    files.push({ name: 'mask', file: fileName('mask', type), type, bytes })
  }
  const { type, body } = writeForm(fields, files)
  return { path: '/v1/images/edits', body, headers: { 'content-type': type } }
}
