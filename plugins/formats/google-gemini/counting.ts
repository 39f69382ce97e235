/** Requests to count tokens. */
import type { Fields } from '../fields.ts'
import type { CountFacts } from '../format.ts'
import { requestToCount } from './request.ts'

export const counting: CountFacts = {
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
}
const REQUEST_MEMBERS: ReadonlySet<string> = new Set([
  'generateContentRequest',
  'generate_content_request',
])
