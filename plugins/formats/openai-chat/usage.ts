/** Converts usage counts of chat to and from the gateway's meters. */
import type { Meters } from '../../slots.ts'
import { count, type Fields, isFields, lenientObject, lenientObjects, quantity } from '../fields.ts'
import { omitZeroMeters } from '../format.ts'
import { metersOfCalls } from '../hosted-tools.ts'
import { CHAT_NAMES, withOwnNames } from '../stream/count-names.ts'
import { capCount } from '../stream/reported-usage.ts'
import {
  cachedTokensOf,
  cacheWriteTokensOf,
  completionTokensOf,
  promptTokensOf,
} from '../token-meters.ts'

/** The counts of an answer or an event: its own member `usage`. Without it those of a choice (in
 *  Moonshot's last chunk) or of Groq's extension. */
export const countsIn = (body: Fields): Fields | undefined => {
  if (isFields(body.usage)) return body.usage
  const ofChoice = lenientObjects(body, 'choices').findLast(({ usage }) => isFields(usage))
  const { usage } = ofChoice ?? lenientObject(body, 'x_groq')
  return isFields(usage) ? usage : undefined
}

export const ownNames = withOwnNames(CHAT_NAMES)

/** `prompt_tokens` includes cached, cache write and audio tokens; `completion_tokens` includes
 *  thoughts, audio and images. */
export const metersOf = (sentUsage: Fields): Meters => metersOfOwn(ownNames(sentUsage))
/** The same of counts that have their own names. */
export const metersOfOwn = (usage: Fields): Meters => {
  const prompt = count(usage.prompt_tokens) || count(usage.input_tokens)
  const completion = count(usage.completion_tokens) || count(usage.output_tokens)
  const promptDetails = lenientObject(usage, 'prompt_tokens_details')
  const completionDetails = lenientObject(usage, 'completion_tokens_details')
  const cached = capCount(cachedIn(usage, promptDetails), prompt)
  const cachedDetails = lenientObject(promptDetails, 'cached_tokens_details')
  const cachedAudio = capCount(cachedDetails.audio_tokens, cached)
  const cachedImage = capCount(cachedDetails.image_tokens, cached - cachedAudio)
  const cacheWrite = capCount(cacheWriteIn(usage, promptDetails), prompt - cached)
  const freshAudio = Math.max(0, count(promptDetails.audio_tokens) - cachedAudio)
  const audioInput = Math.min(freshAudio, prompt - cached - cacheWrite)
  const audioOutput = capCount(completionDetails.audio_tokens, completion)
  const imageOutput = capCount(completionDetails.image_tokens, completion - audioOutput)
  const text = completion - audioOutput - imageOutput
  const thinking = thinkingIn(usage, completionDetails, text)
  return omitZeroMeters({
    // Perplexity counts the tokens of cited pages beside the prompt.
    input: prompt - cached - cacheWrite - audioInput + count(usage.citation_tokens),
    cached: cached - cachedAudio - cachedImage,
    cached_audio: cachedAudio,
    cached_image: cachedImage,
    cache_write: cacheWrite,
    audio_input: audioInput,
    output: text - (thinking.isBeside ? 0 : thinking.tokens),
    thinking: thinking.tokens,
    audio_output: audioOutput,
    image_output: imageOutput,
    seconds: quantity(usage.prompt_audio_seconds),
    web_search: count(usage.num_search_queries),
    // xAI's and OpenRouter's names.
    ...metersOfCalls(lenientObject(usage, 'server_side_tool_usage_details'), '_calls'),
    ...metersOfCalls(lenientObject(usage, 'server_tool_use'), '_requests'),
  })
}

/** OpenAI's name, or those of Moonshot and DeepSeek. */
const cachedIn = (usage: Fields, details: Fields): number =>
  count(details.cached_tokens) ||
  count(usage.cached_tokens) ||
  count(usage.prompt_cache_hit_tokens) ||
  count(usage.cache_read_input_tokens)
const cacheWriteIn = (usage: Fields, details: Fields): number =>
  count(details.cache_write_tokens) ||
  count(details.cache_creation_tokens) ||
  count(usage.cache_creation_input_tokens)

/** xAI and Perplexity count thoughts apart from the completion, which the total or a smaller
 *  completion shows. */
const thinkingIn = (
  usage: Fields,
  details: Fields,
  text: number,
): { readonly tokens: number; readonly isBeside: boolean } => {
  const own = count(details.reasoning_tokens)
  const reasoning = own || count(usage.reasoning_tokens)
  const sum = count(usage.prompt_tokens) + count(usage.completion_tokens) + reasoning
  const isBeside =
    reasoning > 0 &&
    (count(usage.total_tokens) === sum || (own === 0 && reasoning > count(usage.completion_tokens)))
  return { tokens: isBeside ? reasoning : Math.min(reasoning, text), isBeside }
}

export const countsOf = (meters: Meters): Fields => {
  const cacheWrite = cacheWriteTokensOf(meters)
  const prompt = promptTokensOf(meters)
  const completion = completionTokensOf(meters)
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: cachedTokensOf(meters),
      audio_tokens: (meters.audio_input ?? 0) + (meters.cached_audio ?? 0),
      ...(cacheWrite > 0 && { cache_write_tokens: cacheWrite }),
    },
    completion_tokens_details: {
      reasoning_tokens: meters.thinking ?? 0,
      audio_tokens: meters.audio_output ?? 0,
    },
  }
}
