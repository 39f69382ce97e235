/** Messages between the primary and its child processes, JSON over IPC. */
import type { EncodedBlueprint } from '../config/compile/blueprint.ts'
import type { UpstreamSummary } from '../config/compile/upstream-summary.ts'
import type { Problem } from '../config/problem.ts'
import type { Settings } from '../config/settings.ts'
import type { Sample } from '../observe/metrics.ts'
import type { ConfigurationEdit, LiveView, PresentedCredential, ReloadCaller } from '../plugin.ts'
import type { Authorize, PluginRequest } from './admin-listener.ts'
import type { HealthView } from './gateway/health.ts'

export type StoreSettings = Pick<Settings, 'database' | 'data' | 'durability'>

/** A version as the primary passes it to workers. The primary also accepts connections, so it never
 *  parses the blueprint. */
export interface EncodedVersion {
  readonly version: number
  readonly hash: string
  /** In a message it lacks the texts that the receiver has from the live version. */
  readonly blueprint: EncodedBlueprint
  /** Secret values that the log must redact. */
  readonly secrets: readonly string[]
}
/** A version that the builder has built. */
export interface BuiltVersion extends EncodedVersion {
  readonly type: 'built'
  readonly settings: Settings
  readonly watchedPaths: readonly string[]
  /** `1 route added, plugins/stamp.ts rebuilt` */
  readonly change: string
  /** Where each upstream leads. */
  readonly upstreams: readonly UpstreamSummary[]
  /** `Plugin.serves` by plugin. */
  readonly serves: Readonly<Record<string, string>>
  /** Files of plugins that replace those of the program with their names. */
  readonly replacements: readonly string[]
  /** Admin endpoints of plugins, for example `GET /-/spenders`. */
  readonly admin: readonly string[]
  /** Help of the metrics of plugins, by name. */
  readonly metrics: Readonly<Record<string, string>>
  /** Its routes in order: `POST /v1/items`. */
  readonly routes: readonly string[]
}
export interface UnchangedBuild {
  readonly type: 'unchanged'
  readonly watchedPaths: readonly string[]
}
export interface BuildProblems {
  readonly type: 'problems'
  readonly problems: readonly Problem[]
  /** The problems formatted for people, with source excerpts. */
  readonly text: string
  readonly watchedPaths: readonly string[]
}

export interface Build {
  readonly type: 'build'
  /** Load this stored version, or the one before the live version, instead of the files. */
  readonly rollback?: number | 'previous'
  /** A content hash that counts as unchanged: files that were rolled back stay inactive until they
   *  are edited or a reload is requested. */
  readonly unless?: string
  readonly by?: ReloadCaller
}
/** Questions that the builder answers without building a version. `live`: number of the live
 *  version. */
export type Inspection = InspectingCall & { readonly live: number }
type InspectingCall =
  | { readonly name: 'history' }
  | { readonly name: 'schema' }
  | { readonly name: 'files'; readonly version: number | undefined }
  | { readonly name: 'diff'; readonly from: number; readonly to: number | undefined }
  | { readonly name: 'check'; readonly text: string; readonly file: string | undefined }
  | { readonly name: 'save'; readonly file: string; readonly text: string; readonly before: string }
  | { readonly name: 'edit'; readonly edit: ConfigurationEdit }
/** A call of `host.gateway`, from a worker. */
export type GatewayCall =
  | InspectingCall
  | { readonly name: 'status' }
  | { readonly name: 'readings'; readonly names: readonly string[] }
  | { readonly name: 'reload' }
  | { readonly name: 'rollback'; readonly version: number | undefined }
export interface GatewayResult {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly code: string; readonly status: number; readonly message: string }
}

export type ToBuilder =
  | Build
  | { readonly type: 'serving'; readonly encodedVersion: EncodedVersion }
  | { readonly type: 'live'; readonly version: number }
  | { readonly type: 'welcome'; readonly url: string }
  | { readonly type: 'inspect'; readonly id: number; readonly inspection: Inspection }
export type FromBuilder =
  | BuiltVersion
  | UnchangedBuild
  | BuildProblems
  | { readonly type: 'up' | 'beat' }
  /** The builder is about to open this store. */
  | { readonly type: 'store'; readonly store: StoreSettings }
  | { readonly type: 'welcomed'; readonly texts: readonly string[] }
  | ({ readonly type: 'inspected' } & GatewayResult)
  | { readonly type: 'metrics'; readonly samples: readonly Sample[] }

/** A request to an admin endpoint of a plugin, with the primary's view of the gateway. */
export interface AdminCall {
  readonly id: number
  readonly request: PluginRequest
  readonly view: LiveView
}

export type ToWorker =
  | { readonly type: 'prepare'; readonly encodedVersion: EncodedVersion }
  | { readonly type: 'swap' | 'discard'; readonly version: number }
  /** Carries the handle of the connection. */
  | { readonly type: 'connection'; readonly id: number }
  | { readonly type: 'drain'; readonly grace: number; readonly patient?: boolean }
  | { readonly type: 'metrics' | 'health' }
  | ({ readonly type: 'admin' } & AdminCall)
  | {
      readonly type: 'authorize'
      readonly id: number
      readonly credential: PresentedCredential
    }
  | ({ readonly type: 'gateway' } & GatewayResult)
  /** Another worker crashed: its reservations are to be released. */
  | { readonly type: 'peer-exited' }
export type FromWorker =
  | { readonly type: 'up' }
  | { readonly type: 'prepared'; readonly version: number }
  | ({ readonly version: number } & Pick<BuildProblems, 'type' | 'problems' | 'text'>)
  | { readonly type: 'serving'; readonly version: number }
  /** Acknowledges a connection; nothing has been read from it yet. */
  | { readonly type: 'taken'; readonly id: number }
  /** `storeSilence`: ms since its store last answered; 0 while it answers. */
  | { readonly type: 'beat'; readonly garbage: number; readonly storeSilence: number }
  /** The worker received SIGTERM and asks to be replaced first. */
  | { readonly type: 'renew' }
  | { readonly type: 'metrics'; readonly samples: readonly Sample[] }
  /** `body`: JSON. */
  | { readonly type: 'admin'; readonly id: number; readonly status: number; readonly body: string }
  | {
      readonly type: 'authorized'
      readonly id: number
      readonly result: Awaited<ReturnType<Authorize>>
    }
  | { readonly type: 'gateway'; readonly id: number; readonly call: GatewayCall }
  | ({ readonly type: 'health' } & HealthView)

/** ms between heartbeats. */
export const HEARTBEAT = 250
