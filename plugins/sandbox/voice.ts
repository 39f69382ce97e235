/** What a format must do for the sandbox to speak it, and small readers of requests that all of them use. */
import type { Bytes, Json } from '../../engine/plugin.ts'
import type { Ask, Play } from './play.ts'

export interface Voice {
  /** Requests it answers, by their path. */
  readonly path: RegExp
  ask(body: Fields, path: string): Ask
  plain(play: Play, serial: Serial): Json
  /** A piece for each beat. `query`: what the client asked for beside the body. */
  stream(play: Play, serial: Serial, body: Fields, query: string): readonly Bytes[]
  /** What a stream is called; events where it says nothing. */
  type?(query: string): string
}
export type Fields = { readonly [key: string]: Json }
/** Names for one answer: an id, and when it was made (s). */
export interface Serial {
  readonly id: string
  readonly at: number
}

export const fieldsIn = (value: Json | undefined): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
export const listIn = (value: Json | undefined): readonly Json[] =>
  Array.isArray(value) ? value : []
export const textIn = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
export const numberIn = (value: Json | undefined): number | undefined =>
  typeof value === 'number' ? value : undefined

/** The text of a content that is a string or a list of parts. */
export const wordsIn = (content: Json | undefined): string =>
  typeof content === 'string'
    ? content
    : listIn(content)
        .map(part => textIn(fieldsIn(part).text))
        .join('')
