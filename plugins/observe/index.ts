/** Plugin `observe`: says in the log line and the metrics of a call who made it, for which model,
 *  how much it used and what it cost. Content and secrets are never part of it. */
import { object } from '../../engine/config/shape.ts'
import { isFields, LOG_FIELDS } from '../../engine/kit.ts'
import type {
  Attempt,
  Exchange,
  Fault,
  Host,
  Json,
  Metrics,
  Next,
  Outcome,
  Plugin,
  Stage,
} from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { tokensIn } from '../billing/tokens.ts'
import { type CallSums, callSumsOf } from '../calls/call-sums.ts'
import { type FailedCalls, failedCallsOf } from '../calls/failed-calls.ts'
import { SECTION } from '../calls/section.ts'
import { addUpHours } from '../calls/sum-reads.ts'
import { migrations } from '../calls/tables.ts'
import { hasModelStage } from '../catalogue/configured.ts'
import {
  ACCOUNT,
  CACHED,
  CHARGE,
  CONSOLE,
  GUARDED,
  type Meters,
  MODEL,
  RULE,
  TAGS,
  UNREACHABLE,
  USAGE,
} from '../slots.ts'
import { partsOf } from './call-parts.ts'
import { commands } from './commands.ts'
import { failedCallOf, loggedMessageOf } from './failure.ts'
import { addTry, isFailed, messageOf, messageOfReply, type RunningTry, TRIES } from './tries.ts'

export default {
  schema: object(
    'Nothing to set: the plugin needs only its place in `pipeline:`.',
    {},
    { examples: [{}] },
  ).schema,
  default: {},
  sections: { failed_calls: SECTION.schema },
  before: ['auth', 'model', 'meter'],
  migrations,
  commands,
  metrics: {
    tokens_total:
      'Tokens of calls that ended: of the prompt, of its cached part, and of the output.',
    charged_total: 'Charges of calls that ended, in units of the currency.',
    failed_calls_omitted_total:
      'Failed calls that are not row: beyond `failed_calls.rate`, or the store did not take them.',
    call_sums_omitted_total:
      'Rows of sums and times of calls that are not written: too many at once, or the store did not take them.',
  },
  setup: (_, host: Host) => new Observer(host, keptFailures(host), keptSums(host)),
} satisfies Plugin<object>

/** ms between two writes of failed calls, and between two removals of old ones. */
const WRITE_INTERVAL = 1_000
const REMOVE_INTERVAL = 60_000

/** The failed calls of this process, and the jobs that write and remove them. */
const keptFailures = (host: Host): FailedCalls => {
  const calls = failedCallsOf(host)
  host.job('failed calls', WRITE_INTERVAL, () => calls.flush(), { each: true })
  host.job('old failed calls', REMOVE_INTERVAL, () => calls.remove(Date.now()))
  return calls
}
const SUM_INTERVAL = 2_000
/** The sums of this process, and the jobs that write and remove them. */
const keptSums = (host: Host): CallSums => {
  const sums = callSumsOf(host)
  host.job('call sums', SUM_INTERVAL, () => sums.flush(), { each: true })
  host.job('old call sums', REMOVE_INTERVAL, () => sums.remove(Date.now()))
  host.job('hours of call sums', REMOVE_INTERVAL, () => addUpHours(host.database, Date.now()))
  return sums
}

class Observer implements Stage {
  readonly #metrics: Metrics
  readonly #version: number
  readonly #failedCalls: FailedCalls
  readonly #sums: CallSums
  /** Whether requests of the route name a model. Others are calls if an upstream may serve them. */
  readonly #namesModel: boolean
  constructor({ metrics, config, route }: Host, failedCalls: FailedCalls, sums: CallSums) {
    this.#sums = sums
    this.#metrics = metrics
    this.#version = config.version
    this.#failedCalls = failedCalls
    this.#namesModel = hasModelStage(route)
  }
  handle(exchange: Exchange, next: Next): Promise<void> {
    exchange.onEnd(outcome => this.#report(exchange, outcome))
    return next()
  }
  async forward(attempt: Attempt, next: Next): Promise<void> {
    const start = performance.now()
    try {
      await next()
      const { reply } = attempt
      const { status, headers } = reply
      const each = addTry(attempt, status, start, { headers })
      if (status >= 400) each.message = await messageOfReply(reply)
    } catch (error) {
      const each = addTry(attempt, (error as Fault).code ?? 'ERROR', start, { error })
      if ((error as Fault).code !== undefined) each.message = messageOf(error as Fault)
      throw error
    }
  }
  #report(exchange: Exchange, outcome: Outcome): void {
    const { slots } = exchange
    const { ms } = outcome
    const requestStart = performance.now() - ms.whole
    for (const each of slots.get(TRIES) ?? []) each.start = round(each.start - requestStart)
    const isCall = this.#namesModel || exchange.targets.length > 0
    const fields = fieldsOf(exchange)
    if (!isCall && isOfConsole(slots)) fields.console = true
    const message = loggedMessageOf(outcome)
    if (message !== undefined) fields.message = slots.get(LOG_FIELDS)?.message ?? message
    fields.version = this.#version
    if (ms.first !== undefined) fields.first_byte = round(ms.first)
    slots.set(LOG_FIELDS, fields)
    const failed = isCall ? failedCallOf(exchange, outcome, fields) : undefined
    if (failed) this.#failedCalls.add(failed)
    this.#count(exchange, outcome, fields, failed !== undefined)
  }
  /** Adds the call to the metrics and to the kept sums. */
  #count(
    exchange: Exchange,
    { ms }: Outcome,
    fields: Readonly<Record<string, Json>>,
    isFailed: boolean,
  ): void {
    const { slots } = exchange
    const model = slots.get(MODEL)
    if (model === undefined) return
    const { entry } = model
    const tries = slots.get(TRIES)
    const upstream = tries?.at(-1)?.upstream ?? 'none'
    for (const [kind, name] of KINDS) {
      const tokens = fields[name]
      if (typeof tokens === 'number' && tokens > 0)
        this.#metrics.count('tokens_total', { model: entry, upstream, kind }, tokens)
    }
    const charge = slots.get(CHARGE)
    const cost = Number(fields.cost ?? 0)
    if (cost > 0) this.#metrics.count('charged_total', { model: entry, upstream }, cost)
    const meters = slots.get(USAGE)?.meters
    const { input, cached, output } = tokensIn(meters ?? {})
    const first = charge?.firstContentMs ?? ms.first ?? ms.whole
    this.#sums.add({
      at: Date.now(),
      account: numberIn(fields.account),
      key: numberIn(fields.key),
      member: slots.get(ACCOUNT)?.member?.id,
      model: model.asked,
      entry,
      upstream: tries?.length ? upstream : '',
      isFailed,
      amount: charge?.nanos ?? 0n,
      input: input - cached,
      cached,
      output,
      parts: partsOf(exchange),
      tags: slots.get(TAGS),
      times: meters && !isFailed ? { first, whole: ms.whole } : undefined,
    })
  }
}
const numberIn = (value: Json | undefined): number => (typeof value === 'number' ? value : 0)
/** Label of `tokens_total` -> field of the log line. */
const KINDS = [
  ['input', 'input_tokens'],
  ['cached', 'cached_tokens'],
  ['output', 'output_tokens'],
] as const

const round = (ms: number): number => Math.round(ms * 100) / 100
const fieldsOf = (exchange: Exchange): Record<string, Json> => {
  const { slots, request } = exchange
  const fields: Record<string, Json> = {}
  const account = slots.get(ACCOUNT)
  const model = slots.get(MODEL)?.asked ?? namedModel(request.outlined)
  const usage = slots.get(USAGE)
  const charge = slots.get(CHARGE)
  const tries = slots.get(TRIES)
  if (account) {
    fields.account = account.id
    fields.account_name = account.name
    if (account.key) fields.key = account.key.id
    if (account.member) {
      fields.member = account.member.id
      fields.member_name = account.member.name
    }
    if (account.token !== undefined) fields.token = account.token
  }
  if (model !== undefined) fields.model = model
  if (usage) addTokens(fields, usage.meters)
  if (usage?.estimated) fields.estimated = true
  const guarded = slots.get(GUARDED)
  if (guarded !== undefined) fields.guard = guarded
  if (charge) fields.cost = printMoney(charge.nanos)
  const rule = slots.get(RULE)
  if (rule !== undefined) fields.rule = rule
  const cached = slots.get(CACHED)
  if (cached) fields.cache = cached.request
  const [first] = tries ?? []
  if (tries && first && (tries.length > 1 || isFailed(first))) fields.tries = tries.map(logged)
  else if (first) addOnlyTry(fields, first)
  const skipped = skippedTargets(exchange)
  if (skipped.length > 0) fields.skipped = skipped
  const dropped = exchange.hasReply ? exchange.reply.headers['x-tollgate-dropped'] : undefined
  if (dropped !== undefined) fields.dropped = dropped
  return fields
}
/** Why targets were not asked. */
const skippedTargets = ({ slots, progress: { skipped = [] } }: Exchange): readonly Json[] => [
  ...(slots.get(UNREACHABLE) ?? []).map(({ upstream, name }) => ({
    upstream,
    target: name ?? null,
    why: 'format',
  })),
  ...skipped.map(({ upstream, target, address, why }) => ({
    upstream,
    target: target ?? null,
    ...(address !== undefined && { address }),
    why,
  })),
]
/** Whether the console made the request for itself: its files, or what its pages show. */
const isOfConsole = (slots: Exchange['slots']): boolean =>
  slots.get(CONSOLE) === true || slots.get(ACCOUNT)?.session !== undefined
/** The log has no messages: an upstream may quote content. */
const logged = ({ message: _, ...each }: RunningTry): Json => each
/** A line has less of a single attempt that succeeded. */
const addOnlyTry = (fields: Record<string, Json>, { start, id }: RunningTry): void => {
  fields.sent_ms = start
  if (id !== undefined) fields.upstream_id = id
}
/** The model that a refused request names, which may be unknown. */
const namedModel = (body: Json | undefined): string | undefined => {
  const name = isFields(body) ? body.model : undefined
  return typeof name === 'string' && name.length <= MAX_NAME ? name : undefined
}
const MAX_NAME = 100

/** `input_tokens` has all tokens of the prompt, `cached_share` the part that the upstream read
 *  from its cache. */
const addTokens = (fields: Record<string, Json>, meters: Meters): void => {
  const { input, cached, output } = tokensIn(meters)
  if (input + output === 0) return
  fields.input_tokens = input
  fields.output_tokens = output
  if (cached === 0) return
  fields.cached_tokens = cached
  fields.cached_share = Math.round((cached / input) * 1_000) / 1_000
}
