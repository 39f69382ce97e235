/** Token count requests and responses of the formats that have them. */
import type { Fields } from '../formats/fields.ts'
import { requestToCount } from '../formats/google-gemini/request.ts'

export interface CountFormat {
  /** The request whose tokens are counted. */
  countedRequest(body: Fields): Fields
  /** The body with the target's name of the model, where the body contains it. */
  renameModel(body: Fields, model: string): Fields
  encodeCount(tokens: number): Fields
}

export const countFormats: ReadonlyMap<string, CountFormat> = new Map<string, CountFormat>([
  [
    'anthropic-messages',
    {
      countedRequest: body => body,
      renameModel: (body, model) => ({ ...body, model }),
      encodeCount: tokens => ({ input_tokens: tokens }),
    },
  ],
  [
    'google-gemini',
    {
      countedRequest: requestToCount,
      renameModel: (body, model) =>
        Object.fromEntries(
          Object.entries(body).map(([key, value]) =>
            REQUEST_MEMBERS.has(key)
              ? [key, { ...(value as Fields), model: `models/${model}` }]
              : [key, value],
          ),
        ),
      encodeCount: tokens => ({
        totalTokens: tokens,
        promptTokensDetails: [{ modality: 'TEXT', tokenCount: tokens }],
      }),
    },
  ],
])
const REQUEST_MEMBERS: ReadonlySet<string> = new Set([
  'generateContentRequest',
  'generate_content_request',
])
