/** Plugin `mirror`: sends a share of the requests of a model a second time, to another target,
 *  after the client has its answer. Without a model that has `mirror:` it costs nothing. */
import { object } from '../../engine/config/shape.ts'
import type { Exchange, Host, HostBase, Next, Plugin, Stage } from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { compileRule, type Rule } from '../billing/rule.ts'
import { modelsOf } from '../catalogue/configured.ts'
import { copiesAccount, MIRROR, type MirrorOptions } from '../catalogue/mirror.ts'
import { routeFormat } from '../conversion/route-format.ts'
import { PROMPT } from '../formats/hub/slots.ts'
import { ACCOUNT, CACHED, MODEL } from '../slots.ts'
import { copyOf, type ModelMirror } from './copy.ts'
import { LOST_METRIC, METRICS, Mirror } from './mirror.ts'
import { checkModels } from './problems.ts'

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
  metrics: METRICS,
  setup(_, host: Host): Stage {
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
    mirrors.set(model, { model, rule, target, price: priceOf(mirror, host) })
  }
  return mirrors
}

const priceOf = ({ price }: MirrorOptions, host: HostBase): Rule | undefined =>
  price === undefined
    ? undefined
    : compileRule({ price }, { currency: configuredCurrency(host), where: [], report: () => {} })

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
    exchange.slots.need(PROMPT).watch(prompt => {
      exchange.onEnd(outcome => {
        if (outcome.attempts === 0 || exchange.slots.get(CACHED)) return
        this.#mirror.add(copyOf({ own, prompt, exchange, outcome }))
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
