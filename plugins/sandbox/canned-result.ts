/** Canned results of the sandbox for requests that are not conversations: embeddings, images. */
import type { Bytes, Json } from '../../engine/plugin.ts'
import type { AnswerContext, Fields } from './sandbox-format.ts'

export interface CannedResult {
  /** Matches the paths of its requests. */
  readonly path: RegExp
  /** Undefined: the request exceeds the sandbox's limits. */
  plain(body: Fields, path: string, context: AnswerContext): Json | undefined
  /** The chunks of a stream, one per interval. */
  stream?(body: Fields, path: string, context: AnswerContext): readonly Bytes[]
}
