/** The hub, third part: an answer, whole or in the parts of a stream. Types only. */
import type { Json } from '../../engine/plugin.ts'
import type { Meters } from '../slots.ts'
import type { Citation, Content, Seal } from './content.ts'

/** A whole answer. */
export interface Answer {
  readonly id?: string
  readonly model?: string
  /** Seconds since 1970. */
  readonly created?: number
  /** One for each candidate; none where the prompt itself was refused: then `stop` says why. */
  readonly choices: readonly Choice[]
  /** Absent where the upstream counted nothing. */
  readonly meters?: Meters
  readonly tier?: string
}
export interface Choice {
  readonly content: readonly Content[]
  readonly stop: Stop
  readonly logprobs?: Json
}
/** Why it ended. `call`: with at least one call of the client's tools. `broken`: the model failed to write what it
 *  meant, which no format may show as a success. `pause`: the caller is to send the turn again. */
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
  /** As the upstream wrote it. */
  readonly raw?: string
  /** The stop sequence that was met. */
  readonly sequence?: string
  readonly message?: string
}

/** A part of a streamed answer. Indices are dense over all choices and never used twice; several may be open at once. */
export type Part =
  | {
      readonly type: 'begin'
      readonly id?: string
      readonly model?: string
      readonly created?: number
      readonly meters?: Meters
      readonly tier?: string
    }
  /** `content` holds all that is known already; its text grows. */
  | {
      readonly type: 'open'
      readonly index: number
      readonly choice: number
      readonly content: Content
    }
  /** More of a text, a thought, a refusal or the input of a call. */
  | {
      readonly type: 'grow'
      readonly index: number
      readonly text: string
      readonly logprobs?: Json
    }
  | { readonly type: 'seal'; readonly index: number; readonly seal: Seal }
  | { readonly type: 'cite'; readonly index: number; readonly citation: Citation }
  /** `content`: what a work turned out to be. */
  | { readonly type: 'close'; readonly index: number; readonly content?: Content }
  | { readonly type: 'stop'; readonly choice: number; readonly stop: Stop }
  /** All that is counted by now; the last one wins. */
  | { readonly type: 'count'; readonly meters: Meters }
  /** The upstream's own terminator, once and last. */
  | { readonly type: 'end' }
