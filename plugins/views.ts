/** Rows of the APIs as their readers get them, types only: endpoints return them, and the console
 *  imports them. Money is in units of the currency as a decimal text, where no
 *  specification has it as a number. Times are ISO
 *  8601 in UTC. */
import type {
  AddressStatus,
  RouteView as CompiledRoute,
  FileDiff,
  Json,
  KeyStatus,
  LiveView,
  ProblemView,
  ReloadReport,
  VersionView,
} from '../engine/plugin.ts'

export type { FileDiff, ProblemView, VersionView }

/** `GET /api/session` */
export type SessionView = {
  readonly account: { readonly id: number; readonly name: string; readonly role: string }
  /** The member of the team that signed in; null: the account itself. */
  readonly member: { readonly id: number; readonly name: string; readonly role: string } | null
  /** The token that a change needs. */
  readonly csrf: string
  /** The public address of the gateway. */
  readonly url: string
  readonly currency: string
  /** Whether the pages of operators are served. */
  readonly admin: boolean
  readonly edit: boolean
  /** For operators: titles of upstreams by name, where they differ. */
  readonly titles: Readonly<Record<string, string>>
}

// ---------------------------------------------------------------- accounts and credentials

export type Limits = {
  readonly requests?: string
  readonly tokens?: string
  readonly concurrency?: number
  readonly zone?: string
  readonly retention?: 'none'
  /** Such as `project=alpha, feature=search`. */
  readonly tags?: string
}
/** In quota units; null: no quota, or one for life. */
export type QuotaSetting = {
  readonly quota: number | null
  readonly quota_period: 'day' | 'month' | null
}
/** An account in lists of operators. */
export type AccountRow = {
  readonly id: number
  readonly name: string
  readonly role: string
  readonly state: 'active' | 'suspended' | 'deleted'
  readonly keys: number
  readonly created: string
  readonly balance: string
  readonly used: string
  readonly overdraft: string
  readonly limits: Limits | null
}
/** A member of a team, in lists. */
export type MemberView = {
  readonly id: number
  readonly account: string
  readonly name: string
  readonly role: 'owner' | 'admin' | 'member' | 'viewer'
  /** How many keys he has. */
  readonly keys: number
  readonly created: string
}
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
/** The plan of an account. Amounts: of the window of now. */
export type PlanView = {
  readonly account: string
  readonly plan: string
  readonly state: 'active' | 'expired' | 'unpaid' | 'unknown'
  readonly since: string
  readonly expires: string | null
  readonly amount: string
  readonly used: string
  readonly remaining: string
  readonly resets: string | null
  /** The price of the next window; null: the plan does not renew itself. */
  readonly renews: string | null
}
/** A plan that customers can buy. */
export interface PlanOffer {
  readonly plan: string
  readonly price: string
  readonly amount: string
  readonly per: string
  readonly zone: string
  readonly models: readonly string[] | null
  readonly after: 'wallet' | 'refuse'
  readonly renew: 'auto' | 'never'
}
/** The plan of the caller, and those that it can buy. */
export interface OwnPlans {
  readonly current: PlanView | null
  readonly offers: readonly PlanOffer[]
}
/** `paid`: 0 if the account had the plan already. */
export type BoughtPlan = PlanView & { readonly paid: string }
export type SignInLinkView = { readonly url: string; readonly expires: string }

type CredentialState = 'active' | 'expired' | 'revoked'
/** A credential without its secret, for operators. */
export type KeyView = QuotaSetting & {
  readonly id: number
  readonly account: string
  /** The name of the member of the team that it belongs to; null: the account itself. */
  readonly member: string | null
  readonly name: string
  /** Its beginning and its end. */
  readonly key: string
  readonly state: CredentialState | 'suspended'
  readonly created: string
  readonly expires: string | null
  readonly models: readonly string[] | null
  readonly limits: Limits | null
  /** The rest of the quota, in quota units. */
  readonly remaining: number | null
  /** Its spend; null for a system token. */
  readonly used: string | null
}
type OwnCredential = {
  readonly id: number
  /** The name of the member that it belongs to; null: the account itself. */
  readonly member: string | null
  readonly name: string
  readonly state: CredentialState
  readonly created: string
  readonly expires: string | null
}
/** An API key of the calling account. `key`: its beginning and its end, once the whole secret. */
export type OwnKey = OwnCredential &
  QuotaSetting & {
    readonly key: string
    readonly models: readonly string[] | null
    readonly limits: Limits | null
    /** In quota units. */
    readonly remaining_quota: number | null
    readonly used_quota: number
  }
/** A system token or a session of the calling account. */
export type OwnToken = OwnCredential & {
  readonly token?: string
  readonly session?: string
  /** Of a system token: `read`, `keys` or `all`. */
  readonly scope?: string
}

/** `GET /api/user/info`: the specification has `balance` and `quota` as numbers. */
export type Profile = {
  readonly id: number
  readonly username: string
  readonly display_name: string
  readonly role: string
  readonly group: string
  readonly balance: number
  readonly quota: number
  readonly used_quota: number
  readonly held: string
}

// ---------------------------------------------------------------- usage and charges

/** How a provider served a call, without its name. */
export type ServedFacts = {
  readonly tier: string | null
  readonly speed: string | null
  readonly geography: string | null
  /** The zones of the upstream, by the configuration. */
  readonly zone: string | null
  /** `feature=search, project=alpha`. */
  readonly tags: string | null
  /** The rule of the model that chose the target. */
  readonly rule: string | null
  /** The actions of guards: `pii=masked(2)`. */
  readonly guard: string | null
  readonly first_content_ms: number | null
  readonly ms: number | null
}
type Amounts = { readonly cost: string; readonly refunded: string }
type NamedCall = ServedFacts & {
  readonly request_id: string
  readonly at: string
  readonly route: string
  readonly model: string
  readonly key: number | null
  /** The member who made it; null: the account itself. */
  readonly member: number | null
  readonly state: string
  readonly estimated: boolean
}
/** A call of the calling account. Tokens: of the whole prompt, those of it that were read from the
 *  cache, and those of the answer with thinking; null without any. */
export type UsageCall = NamedCall &
  Amounts & {
    /** The part of the cost that the plan of the account paid. */
    readonly planned: string
    readonly input_tokens: number | null
    readonly cached_tokens: number | null
    readonly output_tokens: number | null
  }
/** Tokens of the whole prompt, those of it that were read from the cache, and those of the answer
 *  with thinking. */
export type TokenSums = {
  readonly input_tokens: number
  readonly cached_tokens: number
  readonly output_tokens: number
}
/** ms of calls that succeeded; null without any. */
export type Latencies = {
  readonly first_content_p50_ms: number | null
  readonly first_content_p99_ms: number | null
  readonly p50_ms: number | null
  readonly p99_ms: number | null
}
/** The calls of a day, a model, a key, a member or a tag. */
export type UsageSum = Amounts &
  TokenSums &
  Latencies & {
    readonly day?: string
    readonly model?: string
    readonly key?: number | null
    readonly name?: string | null
    readonly masked?: string | null
    /** Null: the account itself. */
    readonly member?: number | null
    readonly role?: string | null
    readonly removed?: boolean
    /** Such as `project=alpha`. */
    readonly tag?: string
    readonly calls: number
  }
/** Calls of all accounts by model, upstream, hour or day; by account or key, without upstreams and
 *  times. */
export type TrafficRow = TokenSums &
  Partial<Latencies> & {
    readonly name: string
    readonly calls: number
    readonly failed?: number
    readonly cost: string
  }
/** Usage of a model on a day. `input`: prompt tokens without the cached ones. */
export type UsageCell = Amounts & {
  readonly day: string
  readonly model: string
  readonly calls: number
  readonly failed: number
  readonly input: number
  readonly cached: number
  readonly output: number
}
type PriceLine = {
  readonly meter: string
  readonly quantity: string
  readonly price: string
  readonly per: string
}
export type ReceiptLine = PriceLine & { readonly amount: string }
export type Receipt = NamedCall &
  Amounts & {
    readonly task_id?: string
    readonly settings?: Json
    readonly closed: string | null
    readonly held: string
    readonly uncollected: string
    /** The part of the cost that the plan of the account paid. */
    readonly planned: string
    readonly usage: Readonly<Record<string, number>> | null
    readonly lines: readonly ReceiptLine[]
    readonly unpriced: readonly string[]
    readonly formula: string | null
    /** Of a call that failed, charged or not. */
    readonly failure?: Failure
  }
/** A charge in lists of operators. */
export type ChargeRow = Amounts & {
  readonly request: string
  readonly at: string
  readonly account: number
  readonly account_name: string | null
  readonly key: number | null
  readonly route: string
  readonly model: string
  readonly state: string
  readonly task: string | null
  readonly held: string
  readonly uncollected: string
  /** The part of the cost that the plan of the account paid. */
  readonly planned: string
}
/** How a provider served a call, for operators. */
export type ServedView = ServedFacts & {
  readonly upstream: string | null
  readonly target: string | null
  readonly upstream_key: string | null
  readonly served_model: string | null
  readonly response_id: string | null
  /** Answered from the cache: the id of the call that the upstream answered. */
  readonly cache: string | null
}
/** A charge with all that the ledger has of it. */
export type ChargeView = ServedView &
  Amounts & {
    readonly request: string
    readonly account: number
    readonly account_name: string | null
    readonly key: number | null
    /** The member who made it; null: the account itself. */
    readonly member: number | null
    readonly route: string
    readonly model: string
    /** Version of the configuration. */
    readonly version: number
    readonly state: string
    readonly opened: string
    readonly closed: string | null
    readonly hold: string
    readonly uncollected: string
    /** The part of the cost that the plan of the account paid. */
    readonly planned: string
    readonly estimated: boolean
    readonly usage: Readonly<Record<string, number>> | null
    /** `nanos`: the amount in 1e-9 of a unit. */
    readonly lines: readonly (PriceLine & { readonly nanos: string })[]
    readonly formula: string | null
    readonly task: string | null
    readonly settings: Json
  }
export type AuditReport = {
  readonly balanced: boolean
  readonly time: string
  readonly findings: readonly {
    readonly rule: string
    readonly subject: string
    readonly detail: string
  }[]
}

// ---------------------------------------------------------------- requests and tasks

/** One try of an upstream. `start`: ms after the head of the request. */
export type Try = {
  readonly upstream?: string
  readonly target?: string | null
  /** The first digits of the SHA-256 of the upstream's key. */
  readonly key?: string
  /** Status of its response, or code of its fault. */
  readonly result?: string | number
  /** Of an error that a response with a success status reported. */
  readonly status?: number
  /** Why there was no response: `getaddrinfo ENOTFOUND api.example.com`. */
  readonly cause?: string
  readonly ms?: number
  readonly start?: number
  readonly id?: string
  readonly retry_after?: string
  /** The upstream's message, without secrets; not in the request log. */
  readonly message?: string
}
/** Why a call failed, as its client was told. */
export type Failure = {
  readonly status: number
  readonly code: string
  readonly message: string
}
/** A failed call of the calling account. `cost`: what was delivered before is charged. */
export type FailedUsage = Failure & {
  readonly request_id: string
  readonly at: string
  readonly route: string
  readonly model: string
  readonly key: number | null
  readonly member: number | null
  readonly state: 'failed'
  readonly ms: number
  readonly cost: string
  /** Failed calls of the account before this one that are not kept. */
  readonly omitted: number
}
/** A failed call for operators. */
export type FailedCallView = Failure & {
  readonly request: string
  readonly at: string
  /** null: the call had no valid credential. */
  readonly account: number | null
  readonly account_name: string | null
  readonly key: number | null
  readonly route: string
  readonly model: string
  readonly ms: number
  readonly cost: string
  readonly omitted: number
  readonly attempts: readonly Try[]
}
/** A target that a call was not sent to. `why`: `ejected`, `paused`, `probing`, `resting`,
 *  `limited` or `format`. */
export type Skip = {
  readonly upstream: string
  readonly target?: string | null
  readonly address?: string
  readonly why: string
}
/** A line of the request log with the fields that the shipped plugins add. */
export type RequestLine = {
  readonly id: string
  readonly request_id?: string
  readonly time: number
  readonly status: number
  readonly end: string
  readonly ms: number
  readonly added: number
  readonly bytes?: number
  readonly method: string
  readonly path: string
  readonly route?: string
  readonly code?: string
  readonly attempts: number
  readonly tries?: readonly Try[]
  readonly skipped?: readonly Skip[]
  /** Of a 404 or 405: what the client was told. */
  readonly message?: string
  /** Of a single attempt that succeeded: its start, in ms, and the id of its response. */
  readonly sent_ms?: number
  readonly upstream_id?: string
  readonly upstream?: string
  readonly target?: string
  readonly account?: number
  readonly account_name?: string
  readonly key?: number
  readonly token?: number
  readonly model?: string
  readonly cost?: string
  readonly first_byte?: number
  readonly input_tokens?: number
  readonly cached_tokens?: number
  readonly output_tokens?: number
  readonly version: number
  readonly trace?: string
  readonly process?: string
  readonly dropped?: Json
  readonly details?: Json
}
/** `GET /api/admin/requests/story` */
export type RequestStory = {
  /** null: this machine has no line of it. */
  readonly request: RequestLine | null
  /** Of a call that failed. */
  readonly failed: FailedCallView | null
  readonly key_name: string | null
  /** In the tool that shows traces; null: `console.traces` is not set. */
  readonly trace_url: string | null
  /** Latest first: a late charge of a task is one more. */
  readonly charges: readonly ChargeView[]
  readonly task: { readonly [name: string]: Json } | null
}
/** A task in lists of operators. */
export type TaskRow = {
  readonly id: string
  readonly account: number
  readonly account_name: string | null
  readonly model: string
  readonly state: string
  readonly held: string
  readonly created: string
  readonly upstream: string
  readonly upstream_id: string
  readonly error: string
}
/** An upstream that gets no more tasks. */
export type PausedUpstream = {
  readonly upstream: string
  readonly since: string
  /** How many tasks wait for it. */
  readonly waiting: number
}
/** A batch in lists of operators. */
export type StatementCountsRow = TokenSums & {
  readonly calls: number
  readonly amount: string
  readonly refunded: string
}
export type StatementLineRow = StatementCountsRow & {
  readonly day: string
  readonly key: number | null
  readonly model: string
  readonly failed: number
}
/** Such as `project=alpha`. A call with two tags counts for both. */
export type StatementTagRow = StatementCountsRow & { readonly tag: string }
/** `from` is a day, `to` the day after the last one. `pending`: calls that are not charged yet. */
export type AccountStatement = {
  readonly account: string
  readonly number: number
  readonly currency: string
  readonly from: string
  readonly to: string
  readonly opening: string
  readonly credited: string
  readonly debited: string
  readonly refunded: string
  readonly charged: string
  /** The part of the charges that plans paid, less what refunds returned to them. */
  readonly planned: string
  readonly closing: string
  readonly pending: number
  readonly lines: readonly StatementLineRow[]
  readonly tags: readonly StatementTagRow[]
  /** In the format that was asked for. */
  readonly text?: string
}
/** The answer to a redeemed code. */
export type Redeemed = {
  readonly credited: string
  /** The plan that the account has got. */
  readonly plan: string | null
  /** The account redeemed it before: nothing changed. */
  readonly repeated: boolean
  readonly balance: string
}
/** A credit, debit or refund of an account. */
export type CreditRow = {
  readonly id: number
  readonly at: string
  readonly kind: string
  /** Negative for a debit. */
  readonly amount: string
  /** Of a refund. */
  readonly request: string | null
  readonly note: string
}
export type CodeRow = {
  readonly id: string
  readonly amount: string
  /** The plan that it gives, and for how long; null: none, or without an end. */
  readonly plan: string | null
  readonly lasts: string | null
  readonly state: 'open' | 'redeemed' | 'revoked' | 'expired'
  readonly note: string
  readonly created: string
  readonly expires: string | null
  /** Who redeemed it. */
  readonly account: number | null
  readonly redeemed: string | null
}
/** The code itself is shown once. */
export type NewCode = CodeRow & { readonly code: string }
export type PaymentRow = {
  readonly account: string
  readonly reference: string
  readonly amount: string
  /** The plan that this report gave; null: it is credit, or was reported before. */
  readonly plan: string | null
  /** It had been credited before. */
  readonly repeated: boolean
  readonly balance: string
}
export type BatchRow = {
  readonly id: string
  readonly account: number
  readonly account_name: string
  readonly endpoint: string
  readonly state: string
  readonly total: number
  readonly completed: number
  readonly failed: number
  readonly created: string
  readonly expires: string
  readonly error: string
}
/** A task of the calling account. */
export type OwnTask = {
  readonly id: string
  readonly request_id: string
  readonly route: string
  readonly model: string
  readonly state: string
  readonly progress: number | null
  readonly error: { readonly code: string; readonly message: string } | null
  readonly results: readonly Readonly<Record<string, Json>>[]
  readonly request: Json
  readonly created: string
  readonly changed: string
  readonly expires: string | null
}
/** A batch as OpenAI's clients see it: times are seconds since 1970. */
export type BatchView = {
  readonly id: string
  readonly endpoint: string
  readonly status: string
  readonly created_at: number
  readonly output_file_id: string | null
  readonly error_file_id: string | null
  readonly request_counts: {
    readonly total: number
    readonly completed: number
    readonly failed: number
  }
}
/** A file as OpenAI's clients see it: times are seconds since 1970. */
export type FileView = {
  readonly id: string
  readonly filename: string
  readonly purpose: string
  readonly bytes: number
  readonly created_at: number
  readonly expires_at?: number
}

// ---------------------------------------------------------------- webhooks

/** An event of a webhook of the calling account. */
export type OwnDelivery = {
  readonly id: string
  readonly state: string
  readonly attempts: number
  readonly created: string
  readonly next: string | null
  readonly status: number | null
  readonly message: string
}
/** `GET /api/notifications` */
export type NotificationSettings = {
  readonly url: string | null
  readonly threshold: string | null
  readonly secret: string | null
  readonly disabled: string | null
  readonly deliveries: readonly OwnDelivery[]
  /** Whether the gateway sends mails. */
  readonly can_mail: boolean
  readonly mail: string | null
  readonly mail_confirmed: boolean
  readonly mails: readonly OwnDelivery[]
}
/** `POST /api/notifications/test` */
export type TestDelivery = {
  readonly success: boolean
  readonly message: string
  readonly data: OwnDelivery
}
/** An event of a webhook in lists of operators. */
export type DeliveryRow = {
  readonly id: string
  readonly account: number
  readonly account_name: string | null
  /** The host of its URL. */
  readonly receiver: string
  readonly state: string
  readonly attempts: number
  readonly created: string | null
  readonly last: string | null
  readonly next: string | null
  readonly outcome: string | null
  readonly status: number | null
}
/** A mail to an account in lists of operators. */
export type MailRow = {
  readonly id: string
  readonly account: string
  readonly address: string
  /** `code` confirms an address; `low`: the balance fell below the threshold. */
  readonly kind: 'code' | 'low'
  readonly state: string
  readonly attempts: number
  readonly created: string
  readonly next: string | null
  /** The result of the last attempt, or empty. */
  readonly message: string
}

// ---------------------------------------------------------------- configuration

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
/** The answer of an upstream to one of its keys. */
export type UpstreamFinding = {
  readonly upstream: string
  readonly address: string
  readonly key: string
  readonly answer: string
  readonly fails: boolean
  /** How many it has. */
  readonly models: number | null
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

// ---------------------------------------------------------------- alerts

/** Calls of a model and their copies at a target. `first`: of the customers' calls. `agreement`: a
 *  share, or null if no pair was compared. */
export type MirrorReportRow = {
  readonly model: string
  readonly target: string
  readonly calls: number
  readonly first_failed: number
  readonly failed: number
  readonly first_ms: number
  readonly ms: number
  readonly first_input: number
  readonly first_output: number
  readonly input: number
  readonly output: number
  readonly first_cost: string
  readonly cost: string
  readonly compared: number
  readonly agreed: number
  readonly agreement: number | null
}
/** Answers of the cache in the store. */
export type CacheRow = { readonly answers: number; readonly bytes: number }
export type CachePurgeRow = { readonly removed: number }

/** Whether calls of an account may be written to the journal. */
export type ConsentRow = {
  readonly account: string
  readonly consents: boolean
  readonly since: string | null
}

/** `GET /api/admin/alerts` */
export type AlertRow = {
  readonly rule: string
  readonly object: string
  readonly state: 'pending' | 'firing' | 'resolved'
  readonly since: string
  readonly text: string
}
/** `GET /api/admin/alerts/rules`: every rule, the receivers, and the quiet hours. */
export type AlertRules = {
  readonly rules: readonly AlertRuleRow[]
  /** The receivers of alerts: the kind of each with its host or mail address. */
  readonly receivers: readonly string[]
  readonly quiet: {
    readonly from: string
    readonly to: string
    readonly zone: string
    /** When messages that wait now are sent; null: none waits. */
    readonly until: string | null
  } | null
}
export type AlertRuleRow = {
  readonly rule: string
  /** `off`: not configured. `kept`: nothing is wrong. */
  readonly state: 'off' | 'kept' | 'pending' | 'firing'
  /** The number of objects that fire. */
  readonly firing: number
  /** The time of the last message about this in the last 30 days. */
  readonly fired: string | null
  readonly recovered: string | null
  /** Whether its messages wait in quiet hours. */
  readonly waits: boolean
}
/** `POST /api/admin/alerts/test`: a receiver, and what became of the message. */
export type AlertTestRow = {
  readonly receiver: string
  readonly state: string
  readonly message: string
}

// ---------------------------------------------------------------- changes of the configuration

/** A change of a file of the configuration, by `POST /api/admin/config/…`. */
export type ConfigurationChange = {
  /** `saved`: no gateway runs in this process. */
  readonly state: 'preview' | 'live' | 'saved' | 'unchanged'
  readonly file: string
  /** Of a unified diff. */
  readonly lines: readonly string[]
  /** SHA-256 of the text of the file before the change. */
  readonly hash: string
  readonly problems: readonly {
    readonly file: string
    readonly line: number
    readonly column: number
    readonly text: string
  }[]
  /** The version that is live now. */
  readonly version: number | null
}
/** `GET /api/admin/config/presets` */
export type PresetRow = {
  readonly name: string
  readonly title: string
  /** Options that an upstream must add, with a description of each. */
  readonly needs: Readonly<Record<string, string>>
  /** The environment variable of its key; null: it needs none. */
  readonly variable: string | null
}
/** `GET /api/admin/config/offers?upstream=NAME` */
export type OfferRow = {
  readonly model: string
  /** Whether a model of the configuration has it as its target. */
  readonly isConfigured: boolean
}

// ---------------------------------------------------------------- the log of actions

/** `GET /api/admin/actions` */
export type ActionView = {
  readonly seq: number
  readonly at: string
  readonly actor: string
  readonly via: string
  /** The number of the actor's account. */
  readonly account: number | null
  readonly credential: string | null
  /** The user of the operating system, of a command. */
  readonly user: string | null
  readonly address: string | null
  readonly request: string | null
  readonly operation: string
  readonly object: string
  readonly before: Json
  readonly after: Json
  /** Id of the key that signed the row. */
  readonly key: string
  readonly prev: string
  readonly mac: string
}
export type ActionFinding = {
  /** `gap`: rows are missing; `break`: one was changed; `cut`: the last ones are missing; `key`:
   *  one was signed with another key. */
  readonly kind: 'gap' | 'break' | 'cut' | 'key'
  readonly seq: number
  readonly detail: string
}
/** `GET /api/admin/actions/verify` */
export type ActionReport = {
  readonly intact: boolean
  readonly rows: number
  /** Number of the last row. */
  readonly last: number
  /** Rows up to this one were deleted by age. */
  readonly deleted: number
  /** Published heads that were compared. */
  readonly heads: number
  readonly findings: readonly ActionFinding[]
}
