/** The common part of streams of chat completions and of legacy completions: events without names,
 *  `[DONE]` at the end, and usage in the last chunk before it. Pure. */
import { type Fields, isFields } from '../fields.ts'
import { eventFields, type Format } from '../format.ts'
import type { SseEvent } from './sse.ts'

/** All choices have a finish reason, or the chunk holds the usage that follows: compatible
 *  upstreams omit `[DONE]`. */
const isFinished = (event: SseEvent): boolean => {
  const { choices, usage } = eventFields(event) ?? {}
  if (!Array.isArray(choices)) return false
  if (choices.length === 0) return isFields(usage)
  return choices.every(choice => isFields(choice) && Boolean(choice.finish_reason))
}

/** A chunk with usage and no choices is sent only if `stream_options.include_usage` is set. */
const memberToAdd = ({ stream, stream_options: options }: Fields) => {
  if (stream !== true) return undefined
  const current = isFields(options) ? options : {}
  if (current.include_usage === true) return undefined
  return ['stream_options', { ...current, include_usage: true }] as const
}
const isUsageOnly = (event: SseEvent): boolean => {
  const { choices, usage } = eventFields(event) ?? {}
  return Array.isArray(choices) && choices.length === 0 && isFields(usage)
}

export const CHUNKS = {
  usageMark: '_tokens"',
  isCumulative: true,
  endMarks: ['[DONE]'],
  isEnd: ({ data }) => data?.trim() === '[DONE]',
  afterEnd: 'dropped',
  completesWithoutTerminator: isFinished,
  usageOption: { memberToAdd, isUsageOnly },
} as const satisfies Partial<Format['stream']>
