/** OpenAI's moderation endpoint: whether texts and images break its rules. No answer has usage. */
import type { Meters } from '../../slots.ts'
import { count, type Fields, isFields } from '../fields.ts'
import { type Format, omitZeroMeters } from '../format.ts'
import { NO_NULLS } from '../json/null-members.ts'
import { estimatePromptTokens } from '../prompt-tokens.ts'
import { OPENAI_SERVED } from '../served.ts'
import { CHAT_NAMES, withOwnNames } from '../stream/count-names.ts'
import { NO_STREAM } from '../stream/no-stream.ts'
import { OPENAI_ERRORS } from '../unanswered.ts'
import { about } from './about.ts'

const ownNames = withOwnNames(CHAT_NAMES)
const metersOf = (sentUsage: Fields): Meters => {
  const usage = ownNames(sentUsage)
  // Some upstreams send both names, and one of them as 0.
  return omitZeroMeters({ input: count(usage.prompt_tokens) || count(usage.input_tokens) })
}

export const openaiModerations: Format = {
  name: 'openai-moderations',
  dialect: 'openai',
  endpoint: 'moderations',
  about,
  model: 'body',
  usage: {
    key: 'usage',
    inEvent: ({ usage }) => (isFields(usage) ? usage : undefined),
    counts: ['input'],
    meters: metersOf,
    ownNames,
    sums: { input: ['prompt_tokens'], output: [] },
    estimate: (request, prices) => ({
      observe() {},
      usage(counts) {
        const meters = metersOf(counts ?? {})
        if (meters.input) return { meters, estimated: false }
        // Most models are free, or have a price by the call.
        if (!prices.has('input')) return { meters: {}, estimated: false, isFinalEstimate: true }
        const { input = null } = request
        return {
          meters: { input: estimatePromptTokens({ input }, 0) },
          estimated: true,
          isFinalEstimate: true,
        }
      },
    }),
  },
  nulls: NO_NULLS,
  served: OPENAI_SERVED,
  stream: NO_STREAM,
  answers: OPENAI_ERRORS,
}
