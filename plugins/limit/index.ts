/** How much one caller may ask for: requests and tokens per time, and at once, exact over the workers of the machine. */
import type { Exchange, Host, Next, Plugin } from '../../engine/plugin.ts'
import { networkOf } from '../credentials/network.ts'
import { dialectOf } from '../dialects/index.ts'
import { ACCOUNT, type Account, MODEL } from '../slots.ts'
import { GATES, type Gate, MEMBERS, type Scope } from './gates.ts'
import { type RateLimitHeaders, rateLimitHeadersOf } from './headers.ts'
import { LimitTicket } from './limit-ticket.ts'
import { problemsIn } from './problems.ts'
import { type Limits, ROUTE, type RouteLimits, SECTION, type Section } from './section.ts'

export default {
  schema: ROUTE,
  // Whose limits, and how much is asked of which model.
  after: ['auth', 'form', 'model'],
  sections: { limits: SECTION },
  check: problemsIn,
  // A key's own limits hold on every route.
  default: {},
  setup(options, host) {
    const gates = new Gates(options, host)
    const tell = rateLimitHeadersOf(dialectOf(host.route))
    return {
      handle(exchange, next) {
        const through = gates.of(exchange)
        // Where no limit is set there is no promise, and nothing on the way up.
        return through.length === 0 ? next() : passGates(through, tell, exchange, next)
      },
      explain: exchange => ({ ...options, ...exchange.slots.get(ACCOUNT)?.key?.limits }),
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
  ticket.tell(toHeaders)
}

/** Which gates an exchange of this route meets: found once per spelling, key and model. */
class Gates {
  readonly #host: Host
  readonly #route: RouteLimits
  readonly #section: Section
  readonly #defaultGates: readonly Gate[]
  readonly #hasNamedModels: boolean
  /** Gates of keys with limits of their own, and of models with a name under `limits:`. */
  readonly #found = new WeakMap<object, Map<string, readonly Gate[]>>()

  constructor(route: RouteLimits, host: Host) {
    this.#host = host
    this.#route = route
    this.#section = host.section<Section>('limits')
    this.#hasNamedModels = Object.keys(this.#section.models ?? {}).length > 0
    this.#defaultGates = this.#build(undefined, '')
  }
  of({ slots }: Exchange): readonly Gate[] {
    const own = slots.get(ACCOUNT)?.key?.limits
    const model = this.#hasNamedModels ? (slots.get(MODEL)?.entry ?? '') : ''
    const named = this.#hasNamedModels && this.#section.models?.[model] !== undefined ? model : ''
    if (!own && named === '') return this.#defaultGates
    const known = this.#found.get(own ?? this.#section) ?? new Map<string, readonly Gate[]>()
    this.#found.set(own ?? this.#section, known)
    const gates = known.get(named) ?? this.#build(own, named)
    known.set(named, gates)
    return gates
  }
  #build(own: Limits | undefined, model: string): readonly Gate[] {
    const { account, model: each, ...key } = this.#route
    const section = this.#section
    const where = `route ${this.#host.route.name}`
    const named = section.models?.[model]
    return MEMBERS.flatMap(member => {
      const gate = (scope: Scope, at: string, limits: Limits | undefined): Gate[] => {
        const limit = limits?.[member]
        const name = `limit/${member}/${scope}/${at}`
        return limit === undefined ? [] : [GATES[member](this.#host, scope, name, String(limit))]
      }
      // A key's own limit stands in the place of the others for keys.
      const keys =
        own?.[member] !== undefined
          ? gate('key', 'own', own)
          : [...gate('key', where, key), ...gate('key', 'all', section.key)]
      const models = gate('model', 'all', { ...section.model, ...named })
      const accounts = [
        ...gate('account', where, account),
        ...gate('account', 'all', section.account),
      ]
      return [...keys, ...accounts, ...gate('model', where, each), ...models]
    })
  }
}

/** Whose a request is. */
const CALLERS: Readonly<
  Record<Scope, (account: Account | undefined, exchange: Exchange) => string>
> = {
  key: (account, exchange) =>
    account?.key ? `key ${account.key.id}` : CALLERS.account(account, exchange),
  account: (account, { request }) =>
    account ? `account ${account.id}` : `address ${networkOf(request.client.address)}`,
  // A route without models is one.
  model: (_, { slots }) => `model ${slots.get(MODEL)?.entry ?? ''}`,
}
