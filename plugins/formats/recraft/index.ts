/** Recraft, for targets only: images and vector graphics from a text, six in one call. Its clients read bare addresses. */
import type { Loss, Sent, TargetFacts } from '../codec.ts'
import { askedOf, reduced, shares, taken, unsupported } from '../drawing.ts'
import { drawnIn, joined } from '../drawn.ts'
import { entryOf, type Fields } from '../fields.ts'
import type { TargetFormat } from '../format.ts'
import type { Prompt } from '../hub.ts'
import { decodeError } from '../openai-refusal.ts'

/** Images of one call. */
const MOST = 6

const takes: ReadonlySet<string> = new Set([
  ...['size', 'style', 'style_id', 'substyle', 'negative_prompt', 'controls', 'text_layout'],
  ...['image_format', 'random_seed', 'response_format'],
])

/** Sizes of OpenAI's that it has by another number; '': whichever the model likes. */
const SIZES: Readonly<Record<string, string>> = {
  '1792x1024': '1820x1024',
  '1024x1792': '1024x1820',
  '256x256': '1024x1024',
  '512x512': '1024x1024',
  auto: '',
}
/** Styles of OpenAI's, which mean nothing here. */
const FOREIGN: ReadonlySet<unknown> = new Set(['vivid', 'natural'])

const encodePrompt = (prompt: Prompt, { name }: TargetFacts, loss: Loss): Sent => {
  const { text, images, count } = askedOf(prompt)
  const [image] = images
  if (image) throw unsupported(image)
  if (prompt.settings.user !== undefined) loss.drop('user')
  const { size, style, ...more } = taken(prompt.body, takes)
  if (FOREIGN.has(style)) loss.drop('style')
  const wanted = typeof size === 'string' ? (entryOf(SIZES, size) ?? size) : size
  const members: Fields = {
    prompt: text,
    model: name,
    ...more,
    ...(wanted !== undefined && wanted !== '' && { size: wanted }),
    ...(style !== undefined && !FOREIGN.has(style) && { style }),
  }
  const [first = 1, ...rest] = shares(count, MOST)
  const sent = (n: number): Sent => ({ path: '/v1/images/generations', body: { ...members, n } })
  return { ...sent(first), more: rest.map(sent) }
}

export const recraft: TargetFormat = {
  name: 'recraft',
  stream: { error: () => undefined },
  codec: {
    encodePrompt,
    decodeAnswer(body) {
      const images = drawnIn(body)
      return {
        ...(typeof body.created === 'number' && { created: body.created }),
        choices: images.map(image => ({
          content: [{ ...image, bare: true }],
          stop: { reason: 'end' },
        })),
        meters: { images: images.length },
      }
    },
    // It never streams.
    decodeStream: () => ({ event() {}, close: () => false }),
    decodeError,
    drawing: {
      takes,
      join: joined,
      reduce: (prompt, target, loss) =>
        reduced(prompt, { ...target, traits: { ...target.traits, edits: false } }, loss),
    },
  },
}
