/** Converts usage counts to and from the gateway's meters. The input includes
 *  cached tokens; thoughts and the tokens that tools added are counted beside it and the output. */
import type { Meters } from '../../slots.ts'
import {
  count,
  type Fields,
  isFields,
  lenientObject,
  lenientObjects,
  lenientText,
} from '../fields.ts'
import { omitZeroMeters, type UsageFacts } from '../format.ts'
import { withOwnNames } from '../stream/count-names.ts'
import { compileTextPattern } from '../stream/text-pattern.ts'
import {
  cachedTokensOf,
  MODALITY_METERS,
  metersByModality,
  promptTokensOf,
} from '../token-meters.ts'
import { hostedUsage } from './hosted-tools.ts'

const ownNames = withOwnNames({ input: 'total_input_tokens', output: 'total_output_tokens' })

export const metersOf = (sentUsage: Fields): Meters => {
  const usage = ownNames(sentUsage)
  return omitZeroMeters(
    metersByModality({
      prompt: counted(usage, 'total_input_tokens', 'input_tokens_by_modality'),
      cached: counted(usage, 'total_cached_tokens', 'cached_tokens_by_modality'),
      tools: counted(usage, 'total_tool_use_tokens', 'tool_use_tokens_by_modality'),
      output: counted(usage, 'total_output_tokens', 'output_tokens_by_modality'),
      thinking: count(usage.total_thought_tokens),
    }),
  )
}
const counted = (usage: Fields, total: string, list: string) => ({
  tokens: count(usage[total]),
  of: (modality: string) =>
    lenientObjects(usage, list)
      .filter(each => lenientText(each, 'modality')?.toLowerCase() === modality)
      .reduce((sum, { tokens }) => sum + count(tokens), 0),
})

const TEXT = compileTextPattern({
  text: ['text', 'code'],
  objects: ['arguments'],
  exclusions: ['annotations', 'input', 'system_instruction', 'tools', 'result'],
})
export const usage: UsageFacts = {
  key: 'usage',
  inEvent: event => {
    const { usage } = lenientObject(event, 'interaction')
    return isFields(usage) ? usage : undefined
  },
  meters: metersOf,
  ownNames,
  sums: {
    input: ['total_input_tokens'],
    output: ['total_output_tokens', 'total_thought_tokens'],
  },
  text: { plain: TEXT, events: TEXT },
  counts: MODALITY_METERS,
  hostedTools: hostedUsage,
}

/** Writes the gateway's meters so that the total is the sum of its parts. */
export const countsOf = (meters: Meters): Fields => {
  const { audio_input = 0, cached_audio = 0, output = 0, thinking = 0 } = meters
  const { audio_output = 0, image_output = 0, video_output = 0 } = meters
  const input = promptTokensOf(meters)
  const audio = audio_input + cached_audio
  const outputs = { text: output, audio: audio_output, image: image_output, video: video_output }
  const total = output + audio_output + image_output + video_output
  return {
    total_input_tokens: input,
    input_tokens_by_modality: byModality({ text: input - audio, audio }),
    total_cached_tokens: cachedTokensOf(meters),
    total_output_tokens: total,
    output_tokens_by_modality: byModality(outputs),
    total_thought_tokens: thinking,
    total_tool_use_tokens: 0,
    total_tokens: input + total + thinking,
  }
}
const byModality = (tokens: Readonly<Record<string, number>>): readonly Fields[] =>
  Object.entries(tokens)
    .filter(([, count]) => count > 0)
    .map(([modality, tokens]) => ({ modality, tokens }))
