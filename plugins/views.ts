/** Types of the rows of the APIs: endpoints return them, and the console imports them. Those with
 *  a JSON Schema come from it, in rows/. Money is in units of the currency as a decimal text,
 *  unless a specification has it as a number. Times are ISO 8601 in UTC. */
import type {
  AddressStatus,
  RouteView as CompiledRoute,
  FileDiff,
  KeyStatus,
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
export type * from './rows/usage.ts'
export type * from './rows/work.ts'
export type { FileDiff, ProblemView, VersionView }

/** A budget of one account, key or member. */
type BudgetTermsView = {
  /** null: the budget is in tokens. */
  readonly amount: string | null
  /** null: the budget is in money. */
  readonly tokens: number | null
  readonly per: 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year' | 'life'
  readonly zone: string
  readonly at_limit: 'refuse' | 'warn' | { readonly use: string }
  readonly shadow: boolean
  readonly alert_at: readonly string[]
  readonly used: string
  readonly resets: string | null
}
/** `problem`: why its terms cannot be read; null: they can. */
export type BudgetView = {
  readonly name: string
  readonly of: 'account' | 'key' | 'member' | 'tag'
  readonly owner: number | null
  readonly owner_name: string | null
  readonly account: string | null
  readonly source: 'configuration' | 'store'
} & (
  | (BudgetTermsView & { readonly problem: null })
  | ({ readonly [member in keyof BudgetTermsView]: null } & { readonly problem: string })
)
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
export type UpstreamRow = {
  readonly name: string
  readonly title: string
  /** The plugin that answers for it. */
  readonly inside: string | null
  readonly formats: readonly string[] | null
  readonly addresses: readonly AddressStatus[]
  readonly keys: readonly KeyStatus[]
}
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
