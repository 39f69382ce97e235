/** Every wire format by its name. A further one is a folder and a line here. */
import { anthropicMessages } from './anthropic-messages/index.ts'
import type { Format } from './format.ts'
import { googleGemini } from './google-gemini/index.ts'
import { openaiChat } from './openai-chat/index.ts'
import { openaiResponses } from './openai-responses/index.ts'

export const formats: ReadonlyMap<string, Format> = new Map(
  [openaiChat, openaiResponses, anthropicMessages, googleGemini].map(format => [
    format.name,
    format,
  ]),
)
