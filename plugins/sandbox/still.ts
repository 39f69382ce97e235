/** What the sandbox answers at once, without a conversation: one row for each kind of request. */
import type { Bytes, Json } from '../../engine/plugin.ts'
import type { Fields, Serial } from './voice.ts'

export interface Still {
  /** Requests it answers, by their path. */
  readonly path: RegExp
  /** Undefined: it asks for more than a demonstration makes. */
  plain(body: Fields, path: string, serial: Serial): Json | undefined
  /** A piece for each beat, where the request asks for a stream. */
  stream?(body: Fields, path: string, serial: Serial): readonly Bytes[]
}
