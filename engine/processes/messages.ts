/** What the primary and its children tell each other, as JSON over IPC. */
import type { Problem } from '../config/problem.ts'
import type { Sample } from '../observe/metrics.ts'
import type { Settings } from '../snapshot/snapshot.ts'
import type { ConfigView, PluginRequest } from './admin-listener.ts'

export type StoreSettings = Pick<Settings, 'database' | 'data' | 'durability'>

/** A version as the primary hands it on. It stands on the accept path, so it carries the text and never looks inside. */
export interface Sealed {
  readonly version: number
  readonly hash: string
  /** A Blueprint as JSON. */
  readonly blueprint: string
  /** Values that no log may show. */
  readonly secrets: readonly string[]
}
/** What the builder made. */
export interface Built extends Sealed {
  readonly type: 'built'
  readonly settings: Settings
  readonly watched: readonly string[]
  /** `1 route added, plugins/stamp.ts rebuilt` */
  readonly change: string
  /** Upstreams that plugins answer in-process, for the banner. */
  readonly inside: readonly string[]
  /** Admin endpoints of plugins: `GET /-/spenders`. */
  readonly admin: readonly string[]
}
export interface Unchanged {
  readonly type: 'unchanged'
  readonly watched: readonly string[]
}
export interface Refused {
  readonly type: 'problems'
  readonly problems: readonly Problem[]
  /** The problems as a person reads them, with their frames. */
  readonly text: string
  readonly watched: readonly string[]
}

export interface Build {
  readonly type: 'build'
  /** Put an earlier version live instead of the files: this one, or the one before the serving. */
  readonly rollback?: number | 'previous'
  /** A content (hash) that counts as unchanged: what was rolled back stays so until it is edited or asked for. */
  readonly unless?: string
}
export type ToBuilder =
  | Build
  | { readonly type: 'serving'; readonly sealed: Sealed }
  | { readonly type: 'live'; readonly version: number }
  | { readonly type: 'welcome'; readonly url: string }
export type FromBuilder =
  | Built
  | Unchanged
  | Refused
  | { readonly type: 'up' | 'beat' }
  /** It needs the store now; this is where. */
  | { readonly type: 'store'; readonly store: StoreSettings }
  /** What it is about to run: whose fault it is when nothing more is heard. */
  | { readonly type: 'step'; readonly file: string }
  | { readonly type: 'welcomed'; readonly texts: readonly string[] }
  | { readonly type: 'metrics'; readonly samples: readonly Sample[] }

/** A request to an admin endpoint of a plugin, and what the primary knows of the gateway. */
export interface AdminQuestion {
  readonly id: number
  readonly request: PluginRequest
  readonly view: ConfigView
}

export type ToWorker =
  | { readonly type: 'prepare'; readonly sealed: Sealed }
  | { readonly type: 'swap' | 'discard'; readonly version: number }
  /** With its handle. */
  | { readonly type: 'connection'; readonly id: number }
  | { readonly type: 'drain'; readonly grace: number; readonly patient?: boolean }
  | { readonly type: 'metrics' }
  | ({ readonly type: 'admin' } & AdminQuestion)
  /** A worker has ended without a word: what it held is to be released. */
  | { readonly type: 'peer-exited' }
export type FromWorker =
  | { readonly type: 'up' }
  | { readonly type: 'prepared'; readonly version: number }
  | ({ readonly version: number } & Pick<Refused, 'type' | 'problems' | 'text'>)
  | { readonly type: 'serving'; readonly version: number }
  /** It has the connection, and has not read from it yet. */
  | { readonly type: 'taken'; readonly id: number }
  | { readonly type: 'beat'; readonly garbage: number }
  /** Somebody asked it to end: it wants to be replaced first. */
  | { readonly type: 'renew' }
  | { readonly type: 'metrics'; readonly samples: readonly Sample[] }
  /** `body`: JSON. */
  | { readonly type: 'admin'; readonly id: number; readonly status: number; readonly body: string }

/** ms between signs of life. */
export const BEAT = 250
