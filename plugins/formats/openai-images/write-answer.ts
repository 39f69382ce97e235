/** Encodes images for clients of the image endpoints, as a whole answer or as stream events. */
import { type Fields, omitUndefined } from '../fields.ts'
import type { Answer } from '../hub/answer.ts'
import type { EncodeContext, StreamEncoder } from '../hub/codec.ts'
import type { Content } from '../hub/content.ts'
import { countsOf } from '../images/image-answer.ts'

export const encodeAnswer = (
  { choices, created, meters }: Answer,
  { now }: EncodeContext,
): Fields =>
  omitUndefined({
    created: created ?? now,
    data: choices.flatMap(({ content }) => content.flatMap(imageFields)),
    usage: meters && (meters.input || meters.output) ? countsOf(meters) : undefined,
  })

/** Drops the text that a model writes beside its images. */
const imageFields = (content: Content): readonly Fields[] => {
  if (content.type !== 'media') return []
  const { source, revisedPrompt } = content
  const prompt = omitUndefined({ revised_prompt: revisedPrompt })
  if (source.type === 'url') return [{ url: source.url, ...prompt }]
  return source.type === 'data' ? [{ b64_json: source.data, ...prompt }] : []
}

/** Each image is one event; no terminator follows the last. */
export const encodeStream = ({ now }: EncodeContext): StreamEncoder => ({
  push(part) {
    if (part.type !== 'open') return ''
    const type = 'image_generation.completed'
    return imageFields(part.content)
      .map(
        data => `event: ${type}\ndata: ${JSON.stringify({ type, created_at: now, ...data })}\n\n`,
      )
      .join('')
  },
  failure: body => `event: error\ndata: ${JSON.stringify({ type: 'error', ...body })}\n\n`,
})
