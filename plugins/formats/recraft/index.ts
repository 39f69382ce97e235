/** Recraft, for targets only: raster and vector images from a text or an image, at most six per
 *  call. Its clients expect bare URLs. */
import { type Fields, lookUp } from '../fields.ts'
import type { TargetFormat } from '../format.ts'
import type { DroppedFields, TargetFacts, UpstreamRequest } from '../hub/codec.ts'
import type { Prompt } from '../hub/prompt.ts'
import {
  decodeImages,
  inlineImages,
  joinImageAnswers,
  replaceImages,
} from '../images/image-answer.ts'
import {
  batchSizes,
  imageRequestOf,
  pickFields,
  toImagePrompt,
  unsupportedMedia,
} from '../images/image-prompt.ts'
import { decodeErrorReply } from '../openai-error-reply.ts'
import { NOTHING_SERVED } from '../served.ts'
import { isEmpty, openaiFailure } from '../unanswered.ts'
import { editRequest } from './edit.ts'

/** The maximum number of images per call. */
const MAX_IMAGES = 6

const ACCEPTED_FIELDS: ReadonlySet<string> = new Set([
  'size',
  'style',
  'style_id',
  'substyle',
  'negative_prompt',
  'controls',
  'text_layout',
  'image_format',
  'random_seed',
  'response_format',
  'strength',
])

/** Sizes of OpenAI's image models -> the nearest supported size; '': the model's default. */
const SIZES: Readonly<Record<string, string>> = {
  '1792x1024': '1820x1024',
  '1024x1792': '1024x1820',
  '256x256': '1024x1024',
  '512x512': '1024x1024',
  auto: '',
}
/** Styles of OpenAI's image models without an equivalent here. */
const OPENAI_STYLES: ReadonlySet<unknown> = new Set(['vivid', 'natural'])

const encodePrompt = (
  prompt: Prompt,
  { name }: TargetFacts,
  dropped: DroppedFields,
): UpstreamRequest => {
  const { text, images, mask, count } = imageRequestOf(prompt)
  if (prompt.settings.user !== undefined) dropped.add('user')
  const { style, ...more } = pickFields(prompt.body, ACCEPTED_FIELDS)
  if (OPENAI_STYLES.has(style)) dropped.add('style')
  const members: Fields = {
    prompt: text,
    model: name,
    ...more,
    ...(style !== undefined && !OPENAI_STYLES.has(style) && { style }),
  }
  const [first = 1, ...rest] = batchSizes(count, MAX_IMAGES)
  const [image, another] = images
  if (another) throw unsupportedMedia(another)
  const requestFor = image
    ? editRequest(image, mask, members, dropped)
    : generationRequest(members, dropped)
  return { ...requestFor(first), followUps: rest.map(requestFor) }
}
const generationRequest = (
  fields: Fields,
  dropped: DroppedFields,
): ((n: number) => UpstreamRequest) => {
  const { size, strength, ...members } = fields
  if (strength !== undefined) dropped.add('strength')
  const sizeName = typeof size === 'string' ? (lookUp(SIZES, size) ?? size) : size
  const sizeMember = sizeName !== undefined && sizeName !== '' && { size: sizeName }
  return n => ({ path: '/v1/images/generations', body: { ...members, ...sizeMember, n } })
}

export const recraft: TargetFormat = {
  name: 'recraft',
  served: NOTHING_SERVED,
  stream: { error: () => undefined, carriesContent: () => true },
  answers: {
    marks: ['"url"', '"b64_json"'],
    failure: body => (isEmpty(body.data) ? openaiFailure(body) : undefined),
  },
  codec: {
    encodePrompt,
    decodeAnswer(body) {
      const images = decodeImages(body)
      return {
        ...(typeof body.created === 'number' && { created: body.created }),
        choices: images.map(image => ({
          content: [{ ...image, isBare: true }],
          stop: { reason: 'end' },
        })),
        meters: { images: images.length },
      }
    },
    // Recraft never streams.
    decodeStream: () => ({ push() {}, close: () => false }),
    decodeError: decodeErrorReply,
    imageGeneration: {
      acceptedFields: ACCEPTED_FIELDS,
      joinAnswers: joinImageAnswers,
      inlineImages,
      replaceImages,
      // Recraft may not accept its own output (vector graphics) as input, so earlier images are not
      // edited: the image is generated again from the whole conversation.
      reducePrompt: (prompt, target, dropped) => {
        const { edits = 'shown' } = target.traits
        return toImagePrompt(prompt, { ...target, traits: { ...target.traits, edits } }, dropped)
      },
    },
  },
}
