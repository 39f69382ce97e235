/** Applies the rules of a model to a request: the first rule that holds replaces its targets. */
import { errors } from '../../engine/errors.ts'
import type { Exchange, Json, Metrics, Target } from '../../engine/plugin.ts'
import type { ModelMatch } from '../catalogue/catalogue.ts'
import { readsTags } from '../catalogue/configured.ts'
import {
  explainRule,
  permittedBy,
  type RoutingFacts,
  type RoutingRule,
  ruleHolds,
  targetsByRule,
} from '../catalogue/rules.ts'
import { DEFAULT_AFFINITY } from '../catalogue/section.ts'
import { isFields } from '../formats/fields.ts'
import {
  ACCOUNT,
  CHOOSE_BY_TAGS,
  DEMANDED_ZONES,
  HAS_RULES,
  KEEP_TOGETHER,
  MODEL,
  RULE,
  TAGS,
  type Tags,
} from '../slots.ts'
import { conversationOf, withAffinity } from './affinity.ts'
import { type BodyRules, prepareBody } from './prepare-body.ts'
import { withPrefix } from './prompt-prefix.ts'

const fault = errors({
  RULE_TARGETS: [503, "No target of this model may serve the request (rule '%s')."],
})

type Targets = readonly Target[]
/** The rule of each model that a request was sent to, by its key in `models:`. */
type Choices = Map<string, RoutingRule | undefined>

/** Finds the targets of requests by the rules of their models. */
export class RuleRouter {
  /** One list for each rule and list of targets, so that plugins can key caches by it. */
  readonly #lists = new WeakMap<readonly Target[], Map<string, readonly Target[]>>()
  readonly #permittedLists = new WeakMap<RoutingRule, WeakMap<Targets, Targets>>()
  readonly #choices = new WeakMap<Exchange, Choices>()
  readonly #metrics: Pick<Metrics, 'count'>
  constructor(metrics: Pick<Metrics, 'count'>) {
    this.#metrics = metrics
  }
  /** Sets the targets of the request and prepares its body. Rejects with RULE_TARGETS. */
  async apply(
    match: ModelMatch,
    bodyRules: BodyRules | undefined,
    exchange: Exchange,
  ): Promise<void> {
    await readBody(exchange)
    const choose = () => this.#chooseNowAndByChain(match, exchange)
    // The stage `tags` chooses, once it has read them.
    if (readsTags(exchange.route) && match.rules.some(({ tags }) => tags.length > 0))
      exchange.slots.set(CHOOSE_BY_TAGS, choose)
    else choose()
    if (bodyRules) await prepareBody(bodyRules, exchange)
  }
  /** A stage behind this one knows the chain of stored responses that a request continues. */
  #chooseNowAndByChain(match: ModelMatch, exchange: Exchange): void {
    const { slots } = exchange
    const facts = factsOf(exchange)
    this.#choose(match, facts, exchange)
    if (facts.namesConversation || !match.rules.some(dividesConversations)) return
    const keep = slots.get(KEEP_TOGETHER)
    slots.set(KEEP_TOGETHER, id => {
      this.#choose(match, factsOf(exchange), exchange)
      keep?.(id)
    })
  }
  /** Sends a request to another model than it asked for. `only` of the rule that held for the first
   *  one still applies. Rejects with RULE_TARGETS. */
  async change(match: ModelMatch, exchange: Exchange): Promise<void> {
    if (match.rules.length > 0) await readBody(exchange)
    this.#choose(match, factsOf(exchange), exchange)
  }
  #choose(match: ModelMatch, facts: RoutingFacts, exchange: Exchange): void {
    const rule = match.rules.find(each => ruleHolds(each, facts))
    this.#choicesOf(exchange).set(match.entry.name, rule)
    exchange.slots.set(RULE, rule?.name)
    if (match.rules.length > 0) exchange.slots.set(HAS_RULES, true)
    setTargets(match, rule ? this.#listOf(rule, match) : match.targets, exchange)
  }
  #choicesOf(exchange: Exchange): Choices {
    const known = this.#choices.get(exchange)
    if (known) return known
    const choices: Choices = new Map()
    this.#choices.set(exchange, choices)
    exchange.onEnd(() => {
      const model = exchange.slots.need(MODEL).entry
      const rule = choices.get(model)?.name
      if (rule !== undefined) this.#metrics.count('rules_total', { model, rule })
    })
    // Targets that a later stage sets obey `only`, too.
    exchange.restrict(targets =>
      [...choices.values()].reduce((list, rule) => this.#permitted(rule, list), targets),
    )
    return choices
  }
  #permitted(rule: RoutingRule | undefined, targets: readonly Target[]): readonly Target[] {
    if (!rule?.only) return targets
    const known = this.#permittedLists.get(rule) ?? new WeakMap<Targets, Targets>()
    this.#permittedLists.set(rule, known)
    const list = known.get(targets) ?? permittedBy(rule, targets)
    known.set(targets, list)
    if (list.length === 0 && targets.length > 0) throw fault('RULE_TARGETS', [rule.name])
    return list
  }
  #listOf(rule: RoutingRule, { entry, targets }: ModelMatch): readonly Target[] {
    const lists = this.#lists.get(targets) ?? new Map<string, readonly Target[]>()
    this.#lists.set(targets, lists)
    const list = lists.get(rule.name) ?? targetsByRule(rule, targets, entry.targets.length)
    lists.set(rule.name, list)
    return list
  }
}
const dividesConversations = ({ share, by }: RoutingRule): boolean =>
  share < 1 && by === 'conversation'

/** Sets the targets; with `affinity` of the model, the conversation keeps its target. With
 *  `balance: prefix` the body has been parsed. */
export const setTargets = (
  { entry }: ModelMatch,
  targets: readonly Target[],
  exchange: Exchange,
): void => {
  const { affinity, balance } = entry.options
  const list = balance === 'prefix' ? withPrefix(targets, exchange) : targets
  exchange.targets = affinity ? withAffinity(list, affinity.by ?? DEFAULT_AFFINITY, exchange) : list
}

/** Rules read the body, also where the path names the model, and whatever type the client gives it:
 *  other stages read JSON of any type. A body that is not JSON has no members for them. */
const readBody = async ({ kind, request }: Exchange): Promise<void> => {
  if (kind === 'websocket' || request.outlined !== undefined || request.method !== 'POST') return
  await request.outline().catch(() => {})
}

/** For `tollgate explain`: which rules hold, and which of their conditions. */
export const explainRules = (rules: readonly RoutingRule[], exchange: Exchange): Json => {
  const facts = factsOf(exchange)
  return rules.map(rule => explainRule(rule, facts))
}

interface OwnFacts extends RoutingFacts {
  readonly namesConversation: boolean
}
const NO_TAGS: Tags = {}
const NO_ZONES: readonly string[] = []
const factsOf = (exchange: Exchange): OwnFacts => {
  const { request, route, slots } = exchange
  const body = isFields(request.outlined) ? request.outlined : {}
  const account = slots.get(ACCOUNT)
  const id = String(account?.id ?? '')
  const conversation = conversationOf(exchange, body)
  return {
    body,
    size: Number(request.headers['content-length'] ?? 0),
    headers: request.headers,
    at: Date.now(),
    route: route.name,
    account: account?.name ?? '',
    member: account?.member?.name ?? '',
    key: account?.key?.name ?? '',
    tags: slots.get(TAGS) ?? NO_TAGS,
    zones: slots.get(DEMANDED_ZONES) ?? NO_ZONES,
    namesConversation: conversation !== undefined,
    ids: {
      conversation: `${id} ${conversation ?? ''}`,
      account: id,
      key: `${id} ${account?.key?.id ?? ''}`,
    },
  }
}
