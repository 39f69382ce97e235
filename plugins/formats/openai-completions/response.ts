/** Decodes and encodes whole completions, and their counts. */
import type { Json } from '../../../engine/plugin.ts'
import type { Meters } from '../../slots.ts'
import {
  count,
  type Fields,
  isFields,
  joinText,
  lenientObject,
  lenientObjects,
  lenientText,
  lookUp,
  omitUndefined,
} from '../fields.ts'
import { omitZeroMeters } from '../format.ts'
import type { Answer, Choice, Stop } from '../hub/answer.ts'
import type { EncodeContext } from '../hub/codec.ts'
import type { Content } from '../hub/content.ts'
import { dataUrl } from '../media/media.ts'
import { CHAT_NAMES, withOwnNames } from '../stream/count-names.ts'
import { capCount } from '../stream/reported-usage.ts'
import { cachedTokensOf, completionTokensOf, promptTokensOf } from '../token-meters.ts'
import { readLogprobs, writeLogprobs } from './logprobs.ts'
import { echoOf } from './request.ts'

// ---------------------------------------------------------------- counts

export const countsIn = ({ usage }: Fields): Fields | undefined =>
  isFields(usage) ? usage : undefined
export const ownNames = withOwnNames(CHAT_NAMES)
/** `prompt_tokens` includes cached tokens; `completion_tokens` includes thoughts. */
export const metersOf = (sentUsage: Fields): Meters => {
  const usage = ownNames(sentUsage)
  const [prompt, completion] = [count(usage.prompt_tokens), count(usage.completion_tokens)]
  const cached = capCount(lenientObject(usage, 'prompt_tokens_details').cached_tokens, prompt)
  const details = lenientObject(usage, 'completion_tokens_details')
  const thinking = capCount(details.reasoning_tokens, completion)
  return omitZeroMeters({
    input: prompt - cached,
    cached,
    output: completion - thinking,
    thinking,
  })
}
export const countsOf = (meters: Meters): Fields => {
  const [prompt, completion] = [promptTokensOf(meters), completionTokensOf(meters)]
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cachedTokensOf(meters) },
    completion_tokens_details: { reasoning_tokens: meters.thinking ?? 0 },
  }
}

// ---------------------------------------------------------------- from an upstream

const STOPS: Readonly<Record<string, Stop['reason']>> = {
  stop: 'end',
  length: 'length',
  content_filter: 'filter',
  error: 'broken',
}
export const stopOf = (raw: Json | undefined): Stop =>
  typeof raw === 'string' ? { reason: lookUp(STOPS, raw) ?? 'end', raw } : { reason: 'end' }

export const decodeAnswer = (body: Fields): Answer => {
  const { id, model, created } = body
  const counts = countsIn(body)
  return {
    ...(typeof id === 'string' && { id }),
    ...(typeof model === 'string' && { model }),
    ...(typeof created === 'number' && { created }),
    choices: lenientObjects(body, 'choices').map(decodeChoice),
    ...(counts && { meters: metersOf(counts) }),
  }
}
const decodeChoice = (choice: Fields): Choice => {
  const text = lenientText(choice, 'text')
  const logprobs = readLogprobs(choice.logprobs)
  return {
    content: text ? [{ type: 'text', text }] : [],
    stop: stopOf(choice.finish_reason),
    ...(logprobs !== undefined && { logprobs }),
  }
}

// ---------------------------------------------------------------- to a client

const REASONS: Readonly<Record<Stop['reason'], string>> = {
  end: 'stop',
  sequence: 'stop',
  pause: 'stop',
  call: 'stop',
  length: 'length',
  refusal: 'content_filter',
  filter: 'content_filter',
  broken: 'error',
}
export const reasonOf = ({ reason }: Stop): string => REASONS[reason]

export const encodeAnswer = (answer: Answer, context: EncodeContext): Fields => {
  const { choices, meters, created } = answer
  const refused: readonly Choice[] = [{ content: [], stop: { reason: 'filter' } }]
  const echo = echoOf(context.prompt)
  return omitUndefined({
    id: answerId(context),
    object: 'text_completion',
    created: created ?? context.now,
    model: context.model,
    choices: (choices.length > 0 ? choices : refused).map((choice, index) => ({
      index,
      text: echo + choice.content.map(textOf).join(''),
      logprobs: writeLogprobs(choice.logprobs, echo.length),
      finish_reason: reasonOf(choice.stop),
    })),
    usage: meters && countsOf(meters),
  })
}
export const answerId = ({ id }: EncodeContext): string => joinText('cmpl-', id)

/** The format has no place for thoughts; an image is Markdown. */
export const textOf = (content: Content): string => {
  if (content.type === 'text' || content.type === 'refusal') return content.text
  if (content.type !== 'media') return ''
  const { kind, source, isBare } = content
  const url = source.type === 'url' ? source.url : source.type === 'data' ? dataUrl(source) : ''
  return url === '' || isBare ? url : `${kind === 'image' ? '!' : ''}[${kind}](${url})`
}
