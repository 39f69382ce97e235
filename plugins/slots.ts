/** The slots that plugins share: their names and types, the plugin that sets each, and when its
 *  value is final. */
import type {
  Bytes,
  Exchange,
  Fault,
  Headers,
  Json,
  Slot,
  Statement,
  Target,
} from '../engine/plugin.ts'

/** The id of a request without its prefix; ids of what the request makes derive from it. */
export const bareId = ({ id }: { readonly id: string }): string => id.replace(/^req_/, '')

/** The calling account. JSON, since durable tasks store it. */
export interface Account {
  readonly id: number
  readonly name: string
  readonly role: 'customer' | 'admin'
  /** The member of the team whose credential it is; absent: of the account itself. */
  readonly member?: Member
  /** Limits that replace those of routes for accounts. */
  readonly limits?: OwnLimits
  /** The API key of the request; absent with a system token or a session. */
  readonly key?: AccountKey
  /** The number of the system token of the request. */
  readonly token?: number
  /** Of that system token; absent: it may do everything. */
  readonly scope?: TokenScope
  /** The number of the console's session of the request. */
  readonly session?: number
}
/** `read`: changes nothing; `keys`: changes API keys too. */
export type TokenScope = 'read' | 'keys'
export type MemberRole = 'owner' | 'admin' | 'member' | 'viewer'
export interface Member {
  readonly id: number
  readonly name: string
  readonly role: MemberRole
  /** Of its calls: `project=alpha, feature=search`. */
  readonly tags?: string
}
/** The name of a zone, as a regular expression. */
export const ZONE = '^[a-z][a-z0-9-]{0,31}$'
/** The name and a value of a tag, as regular expressions. */
export const TAG_NAME = '[a-z][a-z0-9_-]{0,31}'
export const TAG_VALUE = '[A-Za-z0-9][A-Za-z0-9._-]{0,63}'
/** Tags such as `project=alpha, feature=search`, as a regular expression and in characters. */
export const TAG_LIST_LENGTH = 100
export const TAG_LIST = `^${TAG_NAME}=${TAG_VALUE}(, ?${TAG_NAME}=${TAG_VALUE}){0,15}$`
/** Rates such as `60/min`, where its requests may be processed, and the tags of its calls. */
export interface OwnLimits {
  readonly requests?: string
  readonly tokens?: string
  readonly concurrency?: number
  readonly zone?: string
  readonly retention?: 'none'
  readonly tags?: string
}
export interface AccountKey {
  readonly id: number
  readonly name: string
  /** Names of the models it may use; absent: all. */
  readonly models?: readonly string[]
  /** Limits that replace those of routes for keys. */
  readonly limits?: OwnLimits
  /** The spending limit, in quota units; absent: only the account's balance limits the key. */
  readonly quota?: number
}
/** Set by `auth` before the request is forwarded; final then. */
export const ACCOUNT: Slot<Account> = { name: 'account', keep: true }

/** Of the secret that opened a WebSocket: it may end while the session is open. Set by `auth`. */
export const SECRET_DIGEST: Slot<string> = { name: 'secret digest' }

/** The requested model. JSON, since durable tasks store it. */
export interface Model {
  /** The name that the client sent. Tasks store this member under this name. */
  readonly asked: string
  /** The key in `models:` that matches: the name itself, or a pattern. */
  readonly entry: string
}
/** Set by `model` before the request is forwarded; final then. */
export const MODEL: Slot<Model> = { name: 'model', keep: true }

/** The name of the rule that chose the targets; undefined: none. Set by `model` before the request
 *  is forwarded; changed with the model. Tasks store it. */
export const RULE: Slot<string | undefined> = { name: 'rule', keep: true }

/** The model has rules, whether one held or not. Set by `model` before the request is forwarded. */
export const HAS_RULES: Slot<true> = { name: 'has rules' }

/** Identifies the chain of stored responses that a request continues. Set by `responses`. */
export const CHAIN: Slot<string> = { name: 'chain' }

/** Set by `model` where a model keeps conversations of stored responses on one target and key:
 *  takes what identifies the conversation, the same for all of its calls. */
export const KEEP_TOGETHER: Slot<(conversation: string) => void> = { name: 'keep together' }
export const nameChain = (slots: Exchange['slots'], id: string): void => {
  slots.set(CHAIN, id)
  slots.get(KEEP_TOGETHER)?.(id)
}

/** Set by `model` where rules of the model ask for tags: chooses the targets. Called by `tags`. */
export const CHOOSE_BY_TAGS: Slot<() => void> = { name: 'choose by tags' }

/** The zones that the route, the account and the key demand. Set by `zone` and `auth` before
 *  `model`. */
export const DEMANDED_ZONES: Slot<readonly string[]> = { name: 'demanded zones' }
/** Whether the call demands targets that keep nothing. */
export const DEMANDED_RETENTION: Slot<'none'> = { name: 'demanded retention' }

/** The values of the tags of a call, by their names in `tags:`. */
export type Tags = Readonly<Record<string, string>>
/** Set by `tags` before the request is forwarded, and not changed later. Tasks and
 *  batches store it. */
export const TAGS: Slot<Tags> = { name: 'tags', keep: true }

/** Set by `resources` if the request is about an object at a provider: `files` leaves it. */
export const AT_PROVIDER: Slot<true> = { name: 'at provider' }

/** Of a request that stores a cache at its provider: for how long, and the tokens if they are
 *  known. Set by `resources` before `meter`. */
export const CACHE_STORAGE: Slot<{ readonly hours: number; readonly tokens?: number }> = {
  name: 'cache storage',
}

/** The paid quantities. They are disjoint: `input` excludes cached tokens, `output` excludes
 *  thinking. */
export type Meter =
  | 'input'
  | 'cached'
  | 'cached_audio'
  | 'cached_image'
  | 'cache_write'
  | 'cache_write_1h'
  | 'output'
  | 'thinking'
  | 'audio_input'
  | 'audio_output'
  | 'image_input'
  | 'image_output'
  | 'video_output'
  | 'images'
  | 'web_search'
  | 'file_search'
  | 'code_execution'
  | 'x_search'
  | 'collections_search'
  | 'google_maps'
  | 'retrieval'
  | 'image_generation'
  | 'image_generation_input'
  | 'image_generation_output'
  | 'other_tools'
  | 'characters'
  | 'seconds'
  | 'transcription_input'
  | 'transcription_output'
  | 'transcription_seconds'
  | 'search_units'
  | 'cache_storage'
  | 'credits'
  | 'calls'
  | 'cached_call'
export type Meters = Readonly<Partial<Record<Meter, number>>>
/** Attributes that a price may depend on, by their names in prices: service_tier, speed,
 *  inference_geo, quality, size, resolution, … */
export type Attributes = Readonly<Record<string, string | number | boolean>>
/** A part of a usage. */
export interface UsagePart {
  readonly meters: Meters
  /** They replace those of the request in its price. */
  readonly attributes: Attributes
}
/** The usage of one exchange. */
export interface Usage {
  readonly meters: Meters
  /** Of a session whose answers reported different attributes: together they are `meters`. Each is
   *  priced by its own attributes. Absent: there is one part. */
  readonly parts?: readonly UsagePart[]
  /** Of a usage that is stored or polled: attributes that the answer reported. They replace those
   *  of the request in its price. */
  readonly attributes?: Attributes
  /** The upstream reported no counts, or was cut before: the numbers are estimates. */
  readonly estimated: boolean
  /** The format has estimated all missing counts: no other estimate is added. */
  readonly isFinalEstimate?: true
}
/** Set by the codec's filter in `forward`, again whenever more is known; final in the `end` or
 *  `fail` of every filter of a `handle`. On a WebSocket set by `realtime` for each message, before
 *  `meter` reads it. */
export const USAGE: Slot<Usage> = { name: 'usage' }

/** The facts in the answer about how it was made; other members are absent. */
export interface Served {
  /** The provider's id of the answer. */
  readonly id?: string
  /** The provider's id of the request, from a header: it names the call where `id` is absent. */
  readonly request?: string
  /** The model, as the provider names it. */
  readonly model?: string
  /** The region, from a header. No price depends on it. */
  readonly region?: string
  /** They replace the attributes of the request in the price of the call. */
  readonly attributes?: Attributes
}
/** Set by `translate`, `embed` and `realtime`: empty at the head of each answer, again whenever
 *  more is known; final where USAGE is. */
export const SERVED: Slot<Served> = { name: 'served' }

/** The format in which the running attempt is sent. Set by `translate` in its `forward`. */
export const SENT_FORMAT: Slot<string> = { name: 'sent-format' }

/** The call was answered from the cache: the id of the call that was answered by an upstream, and
 *  what is charged for this one, however much of the answer is delivered. Set by `cache` in its
 *  `forward`; final in the `end` or `fail` of every filter of a `handle`. */
export const CACHED: Slot<{ readonly request: string; readonly usage: Usage }> = { name: 'cached' }

/** The output of the running response so far, in tokens estimated from its text. */
export interface OutputSoFar {
  readonly tokens: number
}
export const OUTPUT_SO_FAR: Slot<OutputSoFar> = { name: 'output-so-far' }

/** The meters that have a price of their own. */
export interface PricedMeters {
  has(meter: Meter): boolean
}
/** Set if the exchange is billed by usage, so that formats request counts even if the client does
 *  not. Set by `meter` before the request is forwarded; final in every `forward`. */
export const METERED: Slot<PricedMeters> = { name: 'metered' }

/** The part of its price that a call is charged, a decimal from 0 to 1. Set by `batches` before its
 *  calls reach `meter`. */
export const PRICE_FACTOR: Slot<string> = { name: 'price-factor' }

/** A hold that a stage behind `meter` has taken over: what it stores to close the hold later.
 *  JSON. */
export type KeptHold = {
  readonly request: string
  readonly account: number
  readonly key: number | null
  /** Nanos. */
  readonly held: string
  /** The wallets of its budgets and of its plan. */
  readonly budgets?: readonly number[]
  /** The most tokens that it may use, if a budget or its plan counts them. */
  readonly tokens?: string
  /** The part that its plan pays, if that counts tokens: nanos and tokens. */
  readonly plan?: { readonly amount: string; readonly tokens: string }
  /** ms since 1970. */
  readonly opened: number
  /** The frozen price. */
  readonly rule: string
  readonly attributes: Readonly<Record<string, Json>>
}
export interface HoldOwner {
  /** Takes the hold over: adds the statements to `exchange.writes`, and `meter` charges nothing for
   *  this exchange. The owner adds its own row to the same group and awaits `writes.commit()`; if
   *  that rejects, the hold is released. */
  keep(): KeptHold
}
/** The hold of a metered call. Set by `meter` before the request is forwarded. */
export const HOLD: Slot<HoldOwner> = { name: 'hold' }

/** A reply as `exchange.answer` takes it. */
export interface EarlyReply {
  readonly status: number
  readonly body: Json
  readonly headers?: Headers
}
/** Adds, to the writes whose effect cannot be taken back before the reply, what a repetition of the
 *  request gets from then on; the reply itself replaces it. Set by `idempotency` for a request with
 *  a key. */
export const EARLY_REPLY: Slot<(reply: EarlyReply) => void> = { name: 'early-reply' }
/** The Idempotency-Key of a request. */
export interface KeyUse {
  /** Whether the reply may show a secret: it is not stored then, and a repetition is refused. */
  mayShowSecret: boolean
  /** The statement that uses up the key, for the transaction of the effect. */
  useUp(): Statement
}
/** Set by `idempotency` for a request with a key. */
export const KEY_USE: Slot<KeyUse> = { name: 'key-use' }

/** The charge of a call. */
export interface Charge {
  readonly nanos: bigint
  /** Nanos that the call cost beyond that: its hold and the balance did not cover them. */
  readonly uncollected: bigint
  /** The lines of the receipt, JSON: meter, quantity, price and amount of each. */
  readonly lines: string
  /** The charge rests on an estimate of the usage, not on the upstream's counts. */
  readonly estimated: boolean
  /** ms from the head of the request to the first content of a stream. */
  readonly firstContentMs?: number
}
/** Undefined if nothing was charged or the charge is given back. Set by `meter`: before the head of
 *  a plain response, in the `end` of a stream. Final in `onEnd` of every stage before `meter`, also
 *  for a WebSocket. */
export const CHARGE: Slot<Charge | undefined> = { name: 'charge' }

/** Bytes of the files in a form, which are not text. Set by `form` before the request is forwarded;
 *  final then. */
export const FILES: Slot<number> = { name: 'files' }

/** A stored file that the request names. */
export interface NamedFile {
  /** Media type without parameters. */
  readonly mime: string
  readonly filename: string
  /** Bytes of the file as base64. */
  readonly size: number
  /** The bytes; read once. */
  base64(): Promise<string>
}
/** The stored files of the account, by the texts of the request that name them. Set by `files`
 *  before the request is forwarded; final for every `forward`. */
export const NAMED_FILES: Slot<ReadonlyMap<string, NamedFile>> = { name: 'named-files' }

/** The maximum output tokens, if the balance covers less than the model's maximum. Set by `meter`
 *  before the request is forwarded; final in every `forward`. */
export const OUTPUT_LIMIT: Slot<number> = { name: 'output-limit' }
/** Tokens of the prompt that the hold covers, where media that are elsewhere may have more and the
 *  balance does not reach that bound. Set by `meter`. */
export const COVERED_INPUT: Slot<number> = { name: 'covered-input' }

/** The expanded request: read instead of the body if the client sent only the new part of a
 *  conversation, options for the gateway, members without meaning, less than the defaults of its
 *  model, or a form that JSON stands for. Set by `form`, `validate`, `model` and `responses` before
 *  the request is forwarded; final for `meter` and every `forward`. */
export interface ExpandedRequest {
  readonly body: Json
  /** Bytes. */
  readonly size: number
  /** Whether it differs from what the client sent, so that its bytes must not pass unchanged. */
  readonly longer: boolean
}
export const EXPANDED_REQUEST: Slot<ExpandedRequest> = { name: 'expanded-request' }

/** Set if the response has a success status and ends with an error inside its body. Set by the
 *  codec's filter in `forward`; final in the `end` or `fail` of every filter of a `handle`. */
export const STREAM_ERRORED: Slot<true> = { name: 'stream-errored' }

/** The error that the client gets inside a stream that passes: a text, or its body as JSON.
 *  Set by the codec's filter in `forward`; final where STREAM_ERRORED is. */
export const STREAM_ERROR_TEXT: Slot<string> = { name: 'stream-error-text' }

/** Set if the response has a success status and an error in place of content: the call is free.
 *  Set by the codec's filter in `forward`; final in the `end` or `fail` of every filter of a
 *  `handle`. */
export const UNANSWERED: Slot<true> = { name: 'unanswered' }

/** The targets that take no format of the request. Set by `translate` before the request is
 *  forwarded. */
export const UNREACHABLE: Slot<readonly Target[]> = { name: 'unreachable' }

/** Set by `console` for its pages, its files and its sign-in: the request log marks them. */
export const CONSOLE: Slot<true> = { name: 'console' }

/** Renders the message that a WebSocket client receives before its connection is closed for a
 *  fault. Set by `realtime` before the request is forwarded; final then. */
export const CLOSE_MESSAGE: Slot<(reason: Fault) => Bytes> = { name: 'close-message' }

/** The actions of guards on a request and its answer: `pii=masked(2)`. Set by `guard`; final in
 *  `onEnd`. */
export const GUARDED: Slot<string> = { name: 'guarded' }
/** Of GUARDED what customers may know: guards with `do: shadow` are left out. Set by `guard`; final
 *  in the `end` or `fail` of every filter of a `handle`. */
export const GUARD_VERDICT: Slot<string> = { name: 'guard-verdict' }
/** A guard blocks the answer: what is charged if it was withheld whole. `input`: the tokens of its
 *  prompt. Set by `guard` before it refuses the answer; final in the `fail` of every filter of a
 *  `handle`. */
export const BLOCKED: Slot<'charge' | 'input' | 'free'> = { name: 'blocked' }
/** The guards let a part of the answer pass that has content: bytes that leave from now on may have
 *  it. Set by `guard` while the answer arrives, if one of its guards may charge less. */
export const CONTENT_PASSED: Slot<true> = { name: 'content-passed' }
/** The guards of the call as they are configured: answers that passed others are not those of this
 *  call. Set by `guard` before the request is forwarded. */
export const GUARD_VERSION: Slot<string> = { name: 'guard-version' }
/** Each puts placeholders in the place of texts that a guard restored in an answer: JSON text in
 *  and out. Set by `guard` before the request is forwarded. */
export const HIDE_RESTORED: Slot<readonly ((json: string) => string)[]> = { name: 'hide-restored' }

/** Faults by the code with which the store refuses a statement: `errors` renders the fault of its
 *  owner. */
export const COMMIT_FAULTS: Slot<Readonly<Record<string, Fault>>> = { name: 'commit faults' }
