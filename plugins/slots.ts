/** The slots that plugins share: names and types, who sets each and when it is final. Nothing else
 *  may stand here. */
import type { Bytes, Fault, Json, Slot } from '../engine/plugin.ts'

/** Who is calling. JSON, since it travels with a durable task. */
export interface Account {
  readonly id: number
  readonly name: string
  readonly role: 'customer' | 'admin'
  /** The API key that was presented; absent where a system token was. */
  readonly key?: AccountKey
  /** The number of the system token that was presented. */
  readonly token?: number
}
export interface AccountKey {
  readonly id: number
  readonly name: string
  /** Names of the models it may use; absent: all. */
  readonly models?: readonly string[]
  /** In place of the routes' limits for keys. */
  readonly limits?: {
    readonly requests?: string
    readonly tokens?: string
    readonly concurrency?: number
  }
  /** What it may spend, in quota; absent: as much as the account has. */
  readonly quota?: number
}
/** Set by `auth` on the way down; final then. */
export const ACCOUNT: Slot<Account> = { name: 'account', keep: true }

/** Which model was asked for. JSON, since it travels with a durable task. */
export interface Model {
  /** As the client wrote it. */
  readonly asked: string
  /** The key in `models:` that answers to it: the name itself, or the pattern it fits. */
  readonly entry: string
}
/** Set by `model` on the way down; final then. */
export const MODEL: Slot<Model> = { name: 'model', keep: true }

/** What is counted and paid for. Disjoint: `input` excludes what was cached, `output` excludes
 *  thinking. */
export type Meter =
  | 'input'
  | 'cached'
  | 'cache_write'
  | 'cache_write_1h'
  | 'output'
  | 'thinking'
  | 'audio_input'
  | 'audio_output'
  | 'image_input'
  | 'images'
  | 'web_search'
  | 'file_search'
  | 'code_execution'
  | 'characters'
  | 'seconds'
  | 'calls'
export type Meters = Readonly<Partial<Record<Meter, number>>>
/** What one exchange used. */
export interface Usage {
  readonly meters: Meters
  /** The upstream said nothing, or was cut before it did: the numbers are not its own. */
  readonly estimated: boolean
  /** Its format has estimated all that was not told: nobody adds to it. */
  readonly gauged?: true
}
/** Set by the codec's filter in `forward`, anew whenever more is known; final in the `end` or
 *  `fail` of every filter of a `handle`. On a WebSocket by `realtime`, for each message before
 *  `meter` sees it. */
export const USAGE: Slot<Usage> = { name: 'usage' }

/** What the answer under way has written so far, in tokens estimated by its text. */
export interface Written {
  readonly tokens: number
}
export const WRITTEN: Slot<Written> = { name: 'written' }

/** The meters that have a price of their own. */
export interface Paid {
  has(meter: Meter): boolean
}
/** The exchange is paid for by what it uses, so its counts must be known, whether the client wants
 *  them or not. Set by `meter` on the way down; final in every `forward`. */
export const METERED: Slot<Paid> = { name: 'metered' }

/** Bytes of the files in a form, which are no text. Set by `form` on the way down; final then. */
export const FILES: Slot<number> = { name: 'files' }

/** Tokens that may be written, where the balance covers less than the client might expect. Set by
 *  `meter` on the way down; final in every `forward`. */
export const OUTPUT_LIMIT: Slot<number> = { name: 'output-limit' }

/** What the request asks of its target in full, where its client said only what is new, or what is
 *  for the gateway alone: read in place of its body. Set by `responses` on the way down; final for
 *  `meter` and every `forward`. */
export interface Whole {
  readonly body: Json
  /** Bytes. */
  readonly size: number
  /** It says more than the client sent, so that no bytes may pass as they came. */
  readonly longer: boolean
}
export const WHOLE: Slot<Whole> = { name: 'whole' }

/** The reply ends in an error inside its body, behind a status of success: a stream that broke. Set
 *  by the codec's filter in `forward`; final in the `end` or `fail` of every filter of a
 *  `handle`. */
export const BROKEN: Slot<true> = { name: 'broken' }

/** Renders the message that a WebSocket's client gets before it is closed for a reason. Set by
 *  `realtime` on the way down; final then. */
export const PARTING: Slot<(reason: Fault) => Bytes> = { name: 'parting' }
