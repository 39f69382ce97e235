/** Descriptions of Gemini's generateContent for clients. */
import { events, fields, integer, json, list, object, text } from '../../shapes.ts'
import type { FormatDescription } from '../format.ts'

const content = object(
  {},
  { role: text, parts: list(object({}, { text, functionCall: fields, inlineData: fields })) },
)
const response = object(
  {},
  {
    candidates: list(
      object({}, { content, finishReason: text, index: integer, groundingMetadata: fields }),
    ),
    promptFeedback: fields,
    usageMetadata: object(
      {},
      {
        promptTokenCount: integer,
        candidatesTokenCount: integer,
        thoughtsTokenCount: integer,
        cachedContentTokenCount: integer,
        totalTokenCount: integer,
      },
    ),
    modelVersion: text,
    responseId: text,
  },
)

export const about: FormatDescription = {
  summary: "Answers a conversation, in the format of Gemini's generateContent",
  responses: path =>
    path.includes(':stream')
      ? {
          ...json(list(response)),
          ...events('With `alt=sse`: each event is a part of the response'),
        }
      : json(response),
}
