/** Types of the rows of the APIs: endpoints return them, and the console imports them. Those with
 *  a JSON Schema come from it, in rows/. Money is in units of the currency as a decimal text,
 *  unless a specification has it as a number. Times are ISO 8601 in UTC. */
import type {
  RouteView as CompiledRoute,
  FileDiff,
  LiveView,
  ProblemView,
  ReloadReport,
  VersionView,
} from '../engine/plugin.ts'
import type { PlanView } from './rows/money.ts'
import type { OwnDelivery } from './rows/work.ts'

export type * from './rows/accounts.ts'
export type * from './rows/calls.ts'
export type * from './rows/money.ts'
export type * from './rows/operations.ts'
export type * from './rows/requests.ts'
export type * from './rows/upstreams.ts'
export type * from './rows/usage.ts'
export type * from './rows/work.ts'
export type { FileDiff, ProblemView, VersionView }

/** `paid`: 0 if the account had the plan already. */
export type BoughtPlan = PlanView & { readonly paid: string }
export type SignInLinkView = { readonly url: string; readonly expires: string }

/** `POST /api/notifications/test` */
export type TestDelivery = {
  readonly success: boolean
  readonly message: string
  readonly data: OwnDelivery
}
/** `GET /api/admin/configuration` */
export type ConfigurationView = Pick<
  LiveView,
  'url' | 'version' | 'hash' | 'time' | 'workers' | 'unready' | 'failure'
> & { readonly versions: readonly VersionView[] }
/** `GET /api/admin/configuration/change` */
export type VersionChange = {
  readonly version: number
  readonly before: number | null
  readonly files: readonly FileDiff[]
}
export type ReloadOutcome = Pick<ReloadReport, 'outcome' | 'version'>
export type RouteRow = Omit<CompiledRoute, 'schema' | 'about'> & { readonly summary?: string }
/** A model of `GET /api/models`. */
export type PricedModel = {
  readonly model_name: string
  readonly description?: string
  readonly supported_endpoint_types: readonly string[]
  readonly free?: boolean
  readonly prices: readonly { readonly meter: string; readonly price: string | object }[]
  readonly video_prices?: readonly {
    readonly resolution: string
    readonly duration: number
    readonly credits: number
  }[]
}
