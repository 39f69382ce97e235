/** Google generateContent: the model in the path, whole answers as events, and no terminator except
 *  the finish reason of the last one. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, lenientObject } from '../fields.ts'
import { eventFields, type Format } from '../format.ts'
import { decodeErrorReply } from '../google/error-reply.ts'
import { isVideoPage } from '../google/media-source.ts'
import type { SseEvent } from '../stream/sse.ts'
import { decodeStream } from './decode-stream.ts'
import { encodeStream } from './encode-stream.ts'
import { toolSupport } from './encode-tools.ts'
import { answers, carriesContent, errorOf, failedEnd } from './errors.ts'
import { counting, decodePrompt, encodePrompt, mediaIn, repairHistory } from './request.ts'
import { about, decodeAnswer, encodeAnswer } from './response.ts'
import { NULLS, SETTINGS } from './settings.ts'
import { upload } from './upload.ts'
import { served, usage } from './usage.ts'

export const googleGemini: Format = {
  name: 'google-gemini',
  dialect: 'google',
  endpoint: 'gemini',
  about,
  model: { rename: (path, name) => rename(path, name) },
  answerModel: { key: 'modelVersion', parents: [] },
  outputLimit: ({ generationConfig, generation_config: snake }, tokens) => {
    const config = generationConfig ?? snake
    const key =
      generationConfig === undefined && snake !== undefined
        ? 'generation_config'
        : 'generationConfig'
    return [key, { ...(isFields(config) && config), maxOutputTokens: tokens }]
  },
  limitField: 'maxOutputTokens',
  streamsByPath: path => path.includes(':stream'),
  limitsIn: body => configsIn(body).flatMap(each => [each.maxOutputTokens, each.max_output_tokens]),
  answersIn: body => configsIn(body)[0]?.candidateCount,
  counting,
  sample: {
    path: ':generateContent',
    body: () => ({ contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }),
  },
  usage,
  served,
  finish: { mark: '"finishReason"', value: /^"finishReason"\s*:\s*"(\w+)"/ },
  stream: {
    usageMark: 'TokenCount"',
    isCumulative: true,
    endMarks: ['Reason"'], // finishReason, or blockReason if the prompt was refused
    isEnd: event => endsStream(event),
    afterEnd: 'same', // every candidate has its reason, and counts may follow
    completesWithoutTerminator: () => false,
    error: event => errorOf(event),
    carriesContent,
    failedEnd,
  },
  answers,
  repairHistory,
  nulls: NULLS,
  codec: {
    decodePrompt,
    encodePrompt,
    decodeAnswer,
    encodeAnswer,
    decodeStream,
    encodeStream,
    decodeError: decodeErrorReply,
    settings: SETTINGS,
    tools: toolSupport,
    mediaIn,
    opensUrl: isVideoPage,
    upload,
    runsHostedTools: true,
  },
}

const configsIn = ({ generationConfig, generation_config: snake }: Fields): readonly Fields[] =>
  [generationConfig, snake].filter(isFields)

/** `…/models/NAME:verb?query`: the name is encoded as one segment. The client's API key is removed
 *  from the query. */
const rename = (path: string, name: string | undefined): string => {
  const mark = path.indexOf('?')
  const local = mark < 0 ? path : path.slice(0, mark)
  const query = mark < 0 ? '' : withoutKey(path.slice(mark + 1))
  const newPath = name === undefined ? local : replaceName(local, name)
  return query === '' ? newPath : `${newPath}?${query}`
}
const replaceName = (path: string, name: string): string => {
  const start = path.lastIndexOf('/') + 1
  const verb = path.indexOf(':', start)
  return `${path.slice(0, start)}${encodeURIComponent(name)}${verb < 0 ? '' : path.slice(verb)}`
}
const withoutKey = (query: string): string => {
  if (query === 'alt=sse') return query
  const parameters = new URLSearchParams(query)
  parameters.delete('key')
  return parameters.toString()
}

const endsStream = (event: SseEvent): boolean => {
  const fields = eventFields(event)
  if (!fields) return false
  if (lenientObject(fields, 'promptFeedback').blockReason) return true
  const { candidates } = fields
  return (
    Array.isArray(candidates) &&
    candidates.some((candidate: Json) => isFields(candidate) && Boolean(candidate.finishReason))
  )
}
