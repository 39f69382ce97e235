/** How each format asks for a count of tokens, and how it is told: one row for each that can. */
import type { Fields } from '../formats/fields.ts'
import { countedRequest } from '../formats/google-gemini/read-prompt.ts'

export interface CountVerb {
  /** The request whose tokens are meant. */
  asked(body: Fields): Fields
  /** With the model by the target's own name, where the body says it. */
  renamed(body: Fields, model: string): Fields
  told(tokens: number): Fields
}

export const countVerbs: ReadonlyMap<string, CountVerb> = new Map<string, CountVerb>([
  [
    'anthropic-messages',
    {
      asked: body => body,
      renamed: (body, model) => ({ ...body, model }),
      told: tokens => ({ input_tokens: tokens }),
    },
  ],
  [
    'google-gemini',
    {
      asked: countedRequest,
      renamed: (body, model) =>
        Object.fromEntries(
          Object.entries(body).map(([key, value]) =>
            WHOLE.has(key)
              ? [key, { ...(value as Fields), model: `models/${model}` }]
              : [key, value],
          ),
        ),
      told: tokens => ({
        totalTokens: tokens,
        promptTokensDetails: [{ modality: 'TEXT', tokenCount: tokens }],
      }),
    },
  ],
])
const WHOLE: ReadonlySet<string> = new Set(['generateContentRequest', 'generate_content_request'])
