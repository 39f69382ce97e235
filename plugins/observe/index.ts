/** Plugin `observe`: says in the log line and the metrics of a call who made it, for which model,
 *  how much it used and what it cost. Content and secrets are never part of it. */
import { isFields, LOG_FIELDS } from '../../engine/kit.ts'
import type {
  Attempt,
  Exchange,
  Fault,
  Headers,
  Host,
  Json,
  Metrics,
  Next,
  Outcome,
  Plugin,
  Slot,
  Stage,
} from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { ACCOUNT, CHARGE, type Meters, MODEL, USAGE } from '../slots.ts'
import { logsCommand } from './logs.ts'
import { requestCommand } from './request.ts'

/** One attempt, in the log line where there were several. */
type Try = {
  upstream: string
  target: string | null
  /** Status of its response, or code of its fault. */
  result: number | string
  /** From the head of the request to the begin of the attempt. Until the request ends: a time of
   *  `performance.now()`. */
  start: number
  ms: number
  /** Of an error that a response with a success status reported. */
  status?: number
  /** Why there was no response: `getaddrinfo ENOTFOUND api.example.com`. */
  cause?: string
  /** What support of the provider asks for: the id of its response. */
  id?: string
  /** When the provider allows the next request: seconds, or a date. */
  retry_after?: string
}
const TRIES: Slot<Try[]> = { name: 'tries' }

export default {
  schema: {
    description: 'Nothing to set: the plugin needs only its place in `pipeline:`.',
    type: 'object',
    additionalProperties: false,
    examples: [{}],
  },
  default: {},
  before: ['auth', 'model', 'meter'],
  commands: { logs: logsCommand, request: requestCommand },
  metrics: {
    tokens_total:
      'Tokens of calls that ended: of the prompt, of its cached part, and of the output.',
    charged_total: 'Charges of calls that ended, in units of the currency.',
  },
  setup: (_, host: Host) => new Observer(host),
} satisfies Plugin<object>

class Observer implements Stage {
  readonly #metrics: Metrics
  readonly #version: number
  constructor({ metrics, config }: Host) {
    this.#metrics = metrics
    this.#version = config.version
  }
  handle(exchange: Exchange, next: Next): Promise<void> {
    exchange.onEnd(outcome => this.#report(exchange, outcome))
    return next()
  }
  async forward(attempt: Attempt, next: Next): Promise<void> {
    const start = performance.now()
    try {
      await next()
      const { status, headers } = attempt.reply
      addTry(attempt, status, start, { headers })
    } catch (error) {
      addTry(attempt, (error as Fault).code ?? 'ERROR', start, { error })
      throw error
    }
  }
  #report(exchange: Exchange, { ms }: Outcome): void {
    const { slots } = exchange
    const requestStart = performance.now() - ms.whole
    for (const each of slots.get(TRIES) ?? []) each.start = round(each.start - requestStart)
    const fields = fieldsOf(exchange)
    fields.version = this.#version
    if (ms.first !== undefined) fields.first_byte = round(ms.first)
    slots.set(LOG_FIELDS, fields)
    const model = slots.get(MODEL)?.entry
    if (model === undefined) return
    const upstream = slots.get(TRIES)?.at(-1)?.upstream ?? 'none'
    for (const [kind, name] of KINDS) {
      const tokens = fields[name]
      if (typeof tokens === 'number' && tokens > 0)
        this.#metrics.count('tokens_total', { model, upstream, kind }, tokens)
    }
    if (typeof fields.cost === 'number' && fields.cost > 0)
      this.#metrics.count('charged_total', { model, upstream }, fields.cost)
  }
}
/** Label of `tokens_total` -> field of the log line. */
const KINDS = [
  ['input', 'input_tokens'],
  ['cached', 'cached_tokens'],
  ['output', 'output_tokens'],
] as const

const round = (ms: number): number => Math.round(ms * 100) / 100
/** Headers with the id of a response, by provider; the engine renames `x-request-id`. */
const ID_HEADERS = ['x-upstream-request-id', 'request-id', 'apim-request-id', 'x-amzn-requestid']
const MAX_TEXT = 200

const addTry = (
  { exchange, target }: Attempt,
  result: number | string,
  start: number,
  { headers = {}, error }: { readonly headers?: Headers; readonly error?: unknown },
): void => {
  const ms = Math.round(performance.now() - start)
  const each: Try = { upstream: target.upstream, target: target.name ?? null, result, start, ms }
  if (result === 'UPSTREAM_REFUSED') each.status = (error as Fault).status
  const cause = causeOf(error)
  if (cause !== undefined) each.cause = cause.slice(0, MAX_TEXT)
  const idHeader = ID_HEADERS.find(name => headers[name] !== undefined)
  if (idHeader !== undefined) each.id = String(headers[idHeader]).slice(0, MAX_TEXT)
  const retryAfter = headers['retry-after']
  if (retryAfter !== undefined) each.retry_after = String(retryAfter).slice(0, MAX_TEXT)
  const tries = exchange.slots.get(TRIES)
  if (tries) tries.push(each)
  else exchange.slots.set(TRIES, [each])
}

/** The message of the system's error behind a fault. Causes without a code may quote content. */
const causeOf = (error: unknown): string | undefined => {
  const cause = error instanceof Error ? error.cause : undefined
  if (!(cause instanceof Error)) return undefined
  const { code, message } = cause as NodeJS.ErrnoException
  return causeOf(cause) ?? (typeof code === 'string' ? message || code : undefined)
}

const fieldsOf = (exchange: Exchange): Record<string, Json> => {
  const { slots, request } = exchange
  const fields: Record<string, Json> = {}
  const account = slots.get(ACCOUNT)
  const model = slots.get(MODEL)?.asked ?? namedModel(request.parsed)
  const usage = slots.get(USAGE)
  const charge = slots.get(CHARGE)
  const tries = slots.get(TRIES)
  if (account) {
    fields.account = account.id
    fields.account_name = account.name
    if (account.key) fields.key = account.key.id
    if (account.token !== undefined) fields.token = account.token
  }
  if (model !== undefined) fields.model = model
  if (usage) addTokens(fields, usage.meters)
  if (usage?.estimated) fields.estimated = true
  if (charge) fields.cost = Number(printMoney(charge.nanos))
  const [first] = tries ?? []
  if (tries && first && (tries.length > 1 || isFailed(first))) fields.tries = tries
  else if (first) addOnlyTry(fields, first)
  const dropped = exchange.hasReply ? exchange.reply.headers['x-tollgate-dropped'] : undefined
  if (dropped !== undefined) fields.dropped = dropped
  return fields
}
const isFailed = ({ result }: Try): boolean => typeof result === 'string' || result >= 400
/** A line has less of a single attempt that succeeded. */
const addOnlyTry = (fields: Record<string, Json>, { start, id }: Try): void => {
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
  const { input = 0, cached = 0, cache_write: short = 0, cache_write_1h: long = 0 } = meters
  const { output = 0, thinking = 0 } = meters
  const prompt = input + cached + short + long
  if (prompt + output + thinking === 0) return
  fields.input_tokens = prompt
  fields.output_tokens = output + thinking
  if (cached === 0) return
  fields.cached_tokens = cached
  fields.cached_share = Math.round((cached / prompt) * 1_000) / 1_000
}
