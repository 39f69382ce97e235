/** Types of the hub, part three: an answer, either whole or as the parts of a stream. */
import type { Json } from '../../../engine/plugin.ts'
import type { Meters } from '../../slots.ts'
import type { Citation, Content, OpaquePayload } from './content.ts'

/** A whole answer. */
export interface Answer {
  readonly id?: string
  readonly model?: string
  /** Seconds since 1970. */
  readonly created?: number
  /** One for each candidate. Empty if the provider rejected the prompt itself. */
  readonly choices: readonly Choice[]
  /** Absent if the upstream sent no counts. */
  readonly meters?: Meters
  readonly tier?: string
}
export interface Choice {
  readonly content: readonly Content[]
  readonly stop: Stop
  readonly logprobs?: Json
}
/** The reason why an answer ended. `call`: with at least one call of the client's tools. `broken`:
 *  the model produced invalid output, which no format may present as success. `pause`: the client
 *  must send the turn again to continue it. */
export interface Stop {
  readonly reason:
    | 'end'
    | 'sequence'
    | 'length'
    | 'call'
    | 'refusal'
    | 'filter'
    | 'pause'
    | 'broken'
  /** The upstream's own value. */
  readonly raw?: string
  /** The stop sequence that ended the answer. */
  readonly sequence?: string
  readonly message?: string
}

/** A part of a streamed answer. Block indices are dense across all choices and never reused;
 *  several blocks may be open at once. */
export type Part =
  | {
      readonly type: 'begin'
      readonly id?: string
      readonly model?: string
      readonly created?: number
      readonly meters?: Meters
      readonly tier?: string
    }
  /** `content` holds everything known so far; later `grow` parts append to its text. */
  | {
      readonly type: 'open'
      readonly index: number
      readonly choice: number
      readonly content: Content
    }
  /** Appends to a text, a thought, a refusal or the input of a call. */
  | {
      readonly type: 'grow'
      readonly index: number
      readonly text: string
      readonly logprobs?: Json
    }
  | { readonly type: 'payload'; readonly index: number; readonly payload: OpaquePayload }
  | { readonly type: 'cite'; readonly index: number; readonly citation: Citation }
  /** `content` replaces the block's content: the finished hosted tool call. */
  | { readonly type: 'close'; readonly index: number; readonly content?: Content }
  | { readonly type: 'stop'; readonly choice: number; readonly stop: Stop }
  /** All counts so far; the last part of this type wins. */
  | { readonly type: 'count'; readonly meters: Meters }
  /** The upstream's own terminator: sent once, as the last part. */
  | { readonly type: 'end' }
