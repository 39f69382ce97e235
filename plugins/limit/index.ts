/** Plugin `limit`: rate limits of requests and tokens, and concurrency limits, exact across all
 *  workers. */
import type { Exchange, Host, Next, Plugin } from '../../engine/plugin.ts'
import { networkOf } from '../credentials/network.ts'
import { dialectOf } from '../dialects/index.ts'
import { ACCOUNT, type Account, MODEL } from '../slots.ts'
import { GATES, type Gate, MEMBERS, type Scope } from './gates.ts'
import { type RateLimitHeaders, rateLimitHeadersOf } from './headers.ts'
import { keys, UPSTREAM_KEYS } from './key-limits.ts'
import { LimitTicket } from './limit-ticket.ts'
import { problemsIn } from './problems.ts'
import { type Limits, ROUTE, type RouteLimits, SECTION, type Section } from './section.ts'

const HINT = 'rate limits are `limit: { requests: 60/min }` on a route, or `limits:` for all routes'

export default {
  schema: ROUTE.schema,
  hints: {
    rate_limit: HINT,
    rate_limits: HINT,
    ratelimit: HINT,
    throttle: HINT,
    rpm: HINT,
    tpm: HINT,
  },
  // These plugins set the account, the bytes of files, and the model.
  after: ['auth', 'form', 'model'],
  sections: { limits: SECTION.schema },
  upstream: UPSTREAM_KEYS,
  keys,
  check: problemsIn,
  // The limits of a key apply on every route.
  default: {},
  setup(options, host) {
    const gates = new Gates(options, host)
    const toHeaders = rateLimitHeadersOf(dialectOf(host.route))
    return {
      describe: () => ({
        refusals: { 429: 'Too many requests or tokens: retry after the seconds of `retry-after`' },
      }),
      handle(exchange, next) {
        const exchangeGates = gates.of(exchange)
        // Without a limit the stage adds no promise.
        return exchangeGates.length === 0
          ? next()
          : passGates(exchangeGates, toHeaders, exchange, next)
      },
      explain({ slots }) {
        const { key, limits } = slots.get(ACCOUNT) ?? {}
        return { ...options, ...(limits && { account: { ...limits } }), ...key?.limits }
      },
    }
  },
} satisfies Plugin<RouteLimits>

const passGates = async (
  gates: readonly Gate[],
  toHeaders: RateLimitHeaders,
  exchange: Exchange,
  next: Next,
): Promise<void> => {
  const account = exchange.slots.get(ACCOUNT)
  const ticket = new LimitTicket(exchange)
  for (const gate of gates)
    await ticket.pass(gate, CALLERS[gate.scope](account, exchange), toHeaders)
  await next()
  ticket.addHeaders(toHeaders)
}

/** The gates of an exchange of this route, cached by key and model. */
class Gates {
  readonly #host: Host
  readonly #route: RouteLimits
  readonly #section: Section
  readonly #defaultGates: readonly Gate[]
  readonly #hasNamedModels: boolean
  /** Gates by the account that has limits of its own, or whose key has (else the section), then by
   *  the model named in `limits:`. */
  readonly #gatesByLimits = new WeakMap<object, Map<string, readonly Gate[]>>()

  constructor(route: RouteLimits, host: Host) {
    this.#host = host
    this.#route = route
    this.#section = host.section<Section>('limits')
    this.#hasNamedModels = Object.keys(this.#section.models ?? {}).length > 0
    this.#defaultGates = this.#build(undefined, '')
  }
  of({ slots }: Exchange): readonly Gate[] {
    const account = slots.get(ACCOUNT)
    const own = account?.limits || account?.key?.limits ? account : undefined
    const model = this.#hasNamedModels ? (slots.get(MODEL)?.entry ?? '') : ''
    const limitedModel =
      this.#hasNamedModels && this.#section.models?.[model] !== undefined ? model : ''
    if (!own && limitedModel === '') return this.#defaultGates
    const gatesByModel =
      this.#gatesByLimits.get(own ?? this.#section) ?? new Map<string, readonly Gate[]>()
    this.#gatesByLimits.set(own ?? this.#section, gatesByModel)
    const gates = gatesByModel.get(limitedModel) ?? this.#build(own, limitedModel)
    gatesByModel.set(limitedModel, gates)
    return gates
  }
  #build(own: Account | undefined, model: string): readonly Gate[] {
    const { account, model: perModel, ...key } = this.#route
    const section = this.#section
    const where = `route ${this.#host.route.name}`
    const modelLimits = section.models?.[model]
    return MEMBERS.flatMap(member => {
      const gate = (scope: Scope, at: string, limits: Limits | undefined): Gate[] => {
        const limit = limits?.[member]
        const name = `limit/${member}/${scope}/${at}`
        return limit === undefined ? [] : [GATES[member](this.#host, scope, name, String(limit))]
      }
      // A key's own limit replaces the other limits for keys, and an account's those for accounts.
      const keys =
        own?.key?.limits?.[member] !== undefined
          ? gate('key', 'own', own.key.limits)
          : [...gate('key', where, key), ...gate('key', 'all', section.key)]
      const models = gate('model', 'all', { ...section.model, ...modelLimits })
      const accounts =
        own?.limits?.[member] !== undefined
          ? gate('account', 'own', own.limits)
          : [...gate('account', where, account), ...gate('account', 'all', section.account)]
      return [...keys, ...accounts, ...gate('model', where, perModel), ...models]
    })
  }
}

/** The caller that each scope counts. */
const CALLERS: Readonly<
  Record<Scope, (account: Account | undefined, exchange: Exchange) => string>
> = {
  key: (account, exchange) =>
    account?.key ? `key ${account.key.id}` : CALLERS.account(account, exchange),
  account: (account, { request }) =>
    account ? `account ${account.id}` : `address ${networkOf(request.client.address)}`,
  // A route without models counts as one model.
  model: (_, { slots }) => `model ${slots.get(MODEL)?.entry ?? ''}`,
}
