/** The words plugins share: names and types of slots. Nothing else may stand here. */
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
export const ACCOUNT: Slot<Account> = { name: 'account', keep: true }

/** Which model was asked for. JSON, since it travels with a durable task. */
export interface Model {
  /** As the client wrote it. */
  readonly asked: string
  /** The key in `models:` that answers to it: the name itself, or the pattern it fits. */
  readonly entry: string
}
export const MODEL: Slot<Model> = { name: 'model', keep: true }

/** What is counted and paid for. Disjoint: `input` excludes what was cached, `output` excludes thinking. */
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
/** What one exchange used. Set anew whenever more is known; final when the reply ends. */
export interface Usage {
  readonly meters: Meters
  /** The upstream said nothing, or was cut before it did: the numbers are not its own. */
  readonly estimated: boolean
  /** Its format has estimated all that was not told: nobody adds to it. */
  readonly gauged?: true
}
export const USAGE: Slot<Usage> = { name: 'usage' }

/** The meters that have a price of their own. */
export interface Paid {
  has(meter: Meter): boolean
}
/** Somebody pays for this exchange by what it uses: its counts must be known, whether its client wants them or not. */
export const METERED: Slot<Paid> = { name: 'metered' }

/** Bytes of the files in the form that a request is: no words. */
export const FILES: Slot<number> = { name: 'files' }

/** Tokens that may be written: what the balance covers, where that is less than the client might expect. */
export const OUTPUT_LIMIT: Slot<number> = { name: 'output-limit' }

/** What the request asks of its target in full, where its client said only what is new, or what is for the gateway alone: read
 *  in place of its body. */
export interface Whole {
  readonly body: Json
  /** Bytes. */
  readonly size: number
  /** It says more than the client sent, so that no bytes may pass as they came. */
  readonly longer: boolean
}
export const WHOLE: Slot<Whole> = { name: 'whole' }

/** The reply ends in an error told inside it, behind a status that says success: a stream that broke. */
export const BROKEN: Slot<true> = { name: 'broken' }

/** What is said on a WebSocket before it is closed for a reason, as its clients read it. */
export const PARTING: Slot<(reason: Fault) => Bytes> = { name: 'parting' }
