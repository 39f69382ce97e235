/** Descriptions of OpenAI's image endpoints for clients. */
import { events, fields, integer, json, list, object, text } from '../../shapes.ts'
import type { FormatDescription } from '../format.ts'

const images = object(
  {
    created: integer,
    data: list(object({}, { url: text, b64_json: text, revised_prompt: text })),
  },
  {
    usage: object(
      { input_tokens: integer, output_tokens: integer, total_tokens: integer },
      { input_tokens_details: fields },
    ),
    size: text,
    quality: text,
    background: text,
    output_format: text,
  },
)

export const about: FormatDescription = {
  summary: 'Makes or edits images, in the format of OpenAI images',
  responses: () => ({
    ...json(images),
    ...events('With `stream: true`: partial images, then the image'),
  }),
}
