/** Interface of the sandbox's formats, and helpers to read requests. */
import type { Bytes, Json } from '../../engine/plugin.ts'
import type { CannedAnswer, SandboxRequest } from './canned-answer.ts'

export interface SandboxFormat {
  /** Matches the paths of its requests. */
  readonly path: RegExp
  readRequest(body: Fields, path: string): SandboxRequest
  encodeAnswer(answer: CannedAnswer, serial: AnswerId): Json
  /** The chunks of a stream, one per interval. `query`: the query string of the request. */
  encodeStream(
    answer: CannedAnswer,
    serial: AnswerId,
    body: Fields,
    query: string,
  ): readonly Bytes[]
  /** Content type of a stream. Default: text/event-stream. */
  streamType?(query: string): string
}
export type Fields = { readonly [key: string]: Json }
/** Id and time (s since 1970) of one answer. */
export interface AnswerId {
  readonly id: string
  readonly createdAt: number
}

export const fieldsIn = (value: Json | undefined): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
export const listIn = (value: Json | undefined): readonly Json[] =>
  Array.isArray(value) ? value : []
export const textIn = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
export const numberIn = (value: Json | undefined): number | undefined =>
  typeof value === 'number' ? value : undefined

/** The text of a content that is a string or a list of parts. */
export const contentText = (content: Json | undefined): string =>
  typeof content === 'string'
    ? content
    : listIn(content)
        .map(part => textIn(fieldsIn(part).text))
        .join('')
