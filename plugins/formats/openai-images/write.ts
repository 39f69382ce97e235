/** Encodes an image request for a target: JSON for generation, a form with files for edits. */
import type { Drawing, Loss, Sent, TargetFacts } from '../codec.ts'
import type { Media } from '../content.ts'
import { askedOf, fileName, fileOf, MOST_IMAGES, reduced, shares, taken } from '../drawing.ts'
import { type Fields, present } from '../fields.ts'
import type { Prompt } from '../hub.ts'
import { writeForm } from '../multipart.ts'

export const takes: ReadonlySet<string> = new Set([
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
export const reduce: Drawing['reduce'] = reduced

/** The number of images that the target generates in one call (1 for some models). */
export const mostOf = (traits: TargetFacts['traits']): number =>
  typeof traits.images === 'number' && traits.images >= 1 ? Math.floor(traits.images) : MOST_IMAGES

export const encodePrompt = (prompt: Prompt, { name, traits }: TargetFacts, _: Loss): Sent => {
  const { text, images, mask, count } = askedOf(prompt)
  const { user } = prompt.settings
  const members = present({ model: name, prompt: text, ...taken(prompt.body, takes), user })
  const [first = 1, ...rest] = shares(count, mostOf(traits))
  const requestFor = (n: number): Sent =>
    images.length > 0
      ? edit({ ...members, n }, images, mask)
      : { path: '/v1/images/generations', body: { ...members, n } }
  return { ...requestFor(first), followUps: rest.map(requestFor) }
}

const edit = (members: Fields, images: readonly Media[], mask: Media | undefined): Sent => {
  const fields = Object.entries(members).map(([key, value]) => [key, String(value)] as const)
  const files = images.map((image, index) => {
    const { bytes, type } = fileOf(image)
    const file = fileName(`image-${index + 1}`, type)
    return { name: images.length > 1 ? 'image[]' : 'image', file, type, bytes }
  })
  if (mask) {
    const { bytes, type } = fileOf(mask)
    files.push({ name: 'mask', file: fileName('mask', type), type, bytes })
  }
  const { type, body } = writeForm(fields, files)
  return { path: '/v1/images/edits', body, headers: { 'content-type': type } }
}
