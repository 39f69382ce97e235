/** How much one caller may ask for: requests and tokens per time, and at once, exact over the workers of the machine. */
import type { Exchange, Host, Next, Plugin } from '../../engine/plugin.ts'
import { networkOf } from '../credentials/network.ts'
import { dialectOf } from '../dialects/index.ts'
import { ACCOUNT, type Account, MODEL } from '../slots.ts'
import { type Gate, MEMBERS, OPEN, type Scope } from './gates.ts'
import { type Tell, tellerOf } from './headers.ts'
import { problemsIn } from './problems.ts'
import { type Limits, ROUTE, type RouteLimits, SECTION, type Section } from './section.ts'
import { Stay } from './stay.ts'

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
    const tell = tellerOf(dialectOf(host.route))
    return {
      handle(exchange, next) {
        const through = gates.of(exchange)
        // Where no limit is set there is no promise, and nothing on the way up.
        return through.length === 0 ? next() : passAll(through, tell, exchange, next)
      },
      explain: exchange => ({ ...options, ...exchange.slots.get(ACCOUNT)?.key?.limits }),
    }
  },
} satisfies Plugin<RouteLimits>

const passAll = async (
  gates: readonly Gate[],
  tell: Tell,
  exchange: Exchange,
  next: Next,
): Promise<void> => {
  const account = exchange.slots.get(ACCOUNT)
  const stay = new Stay(exchange)
  for (const gate of gates) await stay.pass(gate, CALLERS[gate.scope](account, exchange), tell)
  await next()
  stay.tell(tell)
}

/** Which gates an exchange of this route meets: found once per spelling, key and model. */
class Gates {
  readonly #host: Host
  readonly #route: RouteLimits
  readonly #section: Section
  readonly #usual: readonly Gate[]
  readonly #byName: boolean
  /** Gates of keys with limits of their own, and of models with a name under `limits:`. */
  readonly #found = new WeakMap<object, Map<string, readonly Gate[]>>()

  constructor(route: RouteLimits, host: Host) {
    this.#host = host
    this.#route = route
    this.#section = host.section<Section>('limits')
    this.#byName = Object.keys(this.#section.models ?? {}).length > 0
    this.#usual = this.#build(undefined, '')
  }
  of({ slots }: Exchange): readonly Gate[] {
    const own = slots.get(ACCOUNT)?.key?.limits
    const model = this.#byName ? (slots.get(MODEL)?.entry ?? '') : ''
    const named = this.#byName && this.#section.models?.[model] !== undefined ? model : ''
    if (!own && named === '') return this.#usual
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
        return limit === undefined ? [] : [OPEN[member](this.#host, scope, name, String(limit))]
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
