/** Plugin `mirror`: sends a share of the requests of a model a second time, to another target,
 *  after the client has its answer. Without a model that has `mirror:` it costs nothing. */
import { object } from '../../engine/config/shape.ts'
import type { Exchange, Host, HostBase, Next, Plugin, Stage } from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { compileRule, type Rule } from '../billing/rule.ts'
import { modelsOf } from '../catalogue/configured.ts'
import { copiesAccount, MIRROR, type MirrorOptions } from '../catalogue/mirror.ts'
import { routeFormat } from '../conversion/route-format.ts'
import { PARTS, PROMPT } from '../formats/hub/slots.ts'
import { amountIn } from '../ledger/budgets/terms.ts'
import { ACCOUNT, CACHED, MODEL } from '../slots.ts'
import { AnswerWatch } from './answer-facts.ts'
import { copyOf, type ModelMirror } from './copy.ts'
import { LOST_METRIC, METRICS, Mirror } from './mirror.ts'
import { commands, offerToOperators } from './operator-part.ts'
import { adviseOnMirrors, checkModels } from './problems.ts'
import { migrations } from './tables.ts'

export default {
  schema: object(
    'Nothing to set: models say it by `mirror:`.',
    {},
    {
      examples: [{}],
    },
  ).schema,
  default: {},
  // It copies the prompt as guards left it.
  after: ['auth', 'model', 'meter', 'translate', 'guard'],
  before: ['sandbox', 'adapt'],
  check: checkModels,
  lint: adviseOnMirrors,
  metrics: METRICS,
  migrations,
  commands,
  setup(_, host: Host): Stage {
    offerToOperators(host)
    const mirrors = mirrorsOf(host)
    if (mirrors.size === 0 || !routeFormat(host)?.codec) return {}
    return new MirrorStage(sharedMirror(host), mirrors, host)
  },
} satisfies Plugin<object>

/** By keys in `models:`. */
const mirrorsOf = (host: HostBase): ReadonlyMap<string, ModelMirror> => {
  const mirrors = new Map<string, ModelMirror>()
  for (const [model, { mirror }] of Object.entries(modelsOf(host))) {
    if (!mirror) continue
    const rule = MIRROR.read(mirror)
    const [upstream = '', ...name] = rule.to.split('/')
    const target = { upstream, name: name.join('/') }
    const price = priceOf(mirror, host)
    mirrors.set(model, { model, rule, target, price, budget: budgetOf(mirror, host) })
  }
  return mirrors
}

const priceOf = ({ price }: MirrorOptions, host: HostBase): Rule | undefined =>
  price === undefined
    ? undefined
    : compileRule({ price }, { currency: configuredCurrency(host), where: [], report: () => {} })

const budgetOf = ({ budget }: MirrorOptions, host: HostBase): ModelMirror['budget'] =>
  budget && {
    amount: amountIn(budget.amount, [], configuredCurrency(host), () => {}),
    per: budget.per,
  }

/** One in each process. Another configuration begins with an empty queue: the accounts whose
 *  requests wait may no longer be copied. */
const sharedMirror = (host: HostBase): Mirror =>
  host.share('mirror', host.config.hash, () => new Mirror(host))

class MirrorStage implements Stage {
  readonly #mirror: Mirror
  readonly #mirrors: ReadonlyMap<string, ModelMirror>
  readonly #host: HostBase
  constructor(mirror: Mirror, mirrors: ReadonlyMap<string, ModelMirror>, host: HostBase) {
    this.#mirror = mirror
    this.#mirrors = mirrors
    this.#host = host
  }
  handle(exchange: Exchange, next: Next): Promise<void> {
    const own = this.#mirrors.get(exchange.slots.get(MODEL)?.entry ?? '')
    if (own && this.#isChosen(own, exchange)) this.#watch(own, exchange)
    return next()
  }
  #isChosen({ rule, target, model }: ModelMirror, exchange: Exchange): boolean {
    const account = exchange.slots.get(ACCOUNT)?.name
    // Not by the id of the trace, which clients may choose: the operator pays.
    if (exchange.kind === 'websocket' || !copiesAccount(rule, account)) return false
    if (Math.random() >= rule.share) return false
    if (exchange.permits(target)) return true
    this.#host.metrics.count(LOST_METRIC, { model, reason: 'zone' })
    return false
  }
  #watch(own: ModelMirror, exchange: Exchange): void {
    const watch = new AnswerWatch()
    exchange.slots.need(PARTS).watch(part => watch.add(part))
    exchange.slots.need(PROMPT).watch(prompt => {
      exchange.onEnd(outcome => {
        if (outcome.attempts === 0 || exchange.slots.get(CACHED)) return
        this.#mirror.add(copyOf({ own, prompt, exchange, outcome, watch }))
      })
    })
  }
  explain(exchange: Exchange) {
    const own = this.#mirrors.get(exchange.slots.get(MODEL)?.entry ?? '')
    if (!own) return null
    const { to, share } = own.rule
    return { to, share, permitted: exchange.permits(own.target) }
  }
}
