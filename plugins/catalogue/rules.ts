/** Rules of models: choose the targets of a request by its facts, with the conditions of prices.
 *  The first rule that matches applies. Pure. */
import { createHash } from 'node:crypto'
import type { Json, Target } from '../../engine/plugin.ts'
import { type Condition, compileWhen, holds } from '../billing/condition.ts'
import { isMeter, isSum } from '../billing/meters.ts'
import type { PricingFacts } from '../billing/pricing-facts.ts'
import { estimatePromptTokens } from '../formats/prompt-tokens.ts'
import type { Tags } from '../slots.ts'
import type { Captures } from './pattern.ts'
import { conditionsOf, dividedBy, type ModelOptions, type RuleOptions } from './section.ts'
import { addRules, insertNames, sendingRulesOf, targetsOf } from './targets.ts'

export interface RoutingRule {
  /** By default its position: `rule-1`. */
  readonly name: string
  readonly when: readonly Condition[]
  readonly tags: readonly (readonly [name: string, values: readonly string[]])[]
  /** One of them is demanded. */
  readonly zones: readonly string[] | undefined
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  /** From 0 to 1: the part of conversations, accounts or keys. */
  readonly share: number
  readonly by: 'conversation' | 'account' | 'key'
  /** Targets of `to`. */
  readonly targets: readonly Target[] | undefined
  /** Names of upstreams. */
  readonly only: ReadonlySet<string> | undefined
}

/** The facts of a request. */
export interface RoutingFacts {
  /** The body or its outline. */
  readonly body: Readonly<Record<string, Json>>
  /** Bytes. */
  readonly size: number
  readonly headers: Readonly<Record<string, string | undefined>>
  /** ms since 1970. */
  readonly at: number
  readonly route: string
  readonly account: string
  readonly member: string
  readonly key: string
  readonly tags: Tags
  /** The zones that the route, the account and the key demand. */
  readonly zones: readonly string[]
  /** Identifies the conversation, the account and the key. */
  readonly ids: Readonly<Record<RoutingRule['by'], string>>
}

type Conditions = Omit<RoutingRule, 'targets' | 'only'>
type ReportWhen = Parameters<typeof compileWhen>[2]
/** Undefined: the rule is not valid, and each problem is reported. */
export const compileConditions = (
  rule: RuleOptions,
  where: readonly (string | number)[],
  report: ReportWhen,
): readonly Condition[] | undefined => {
  const { facts } = conditionsOf(rule)
  if (Object.keys(facts).length === 0) return []
  if ('region' in facts) {
    const message = '`region` is not known: use `zone`, a tag or a header'
    report([...where, 'when', 'region'], 'PRICE_WHEN', message)
    return undefined
  }
  const conditions = compileWhen(facts, [...where, 'when'], report)
  for (const each of conditions ?? [])
    if ('name' in each && each.name !== 'prompt' && (isMeter(each.name) || isSum(each.name))) {
      const message = `"${each.name}" is only known at the end of a call; the only count in a rule is \`prompt\``
      report([...where, 'when', each.name], 'PRICE_WHEN', message)
      return undefined
    }
  return conditions
}

export const routingRulesOf = (options: ModelOptions): readonly RoutingRule[] =>
  (options.rules ?? []).map((rule, index) => ({
    name: nameOfRule(rule, index),
    when: compileConditions(rule, [], () => {}) ?? [],
    tags: Object.entries(conditionsOf(rule).tags).map(([name, values]) => [name, [values].flat()]),
    zones: conditionsOf(rule).zones,
    headers: rule.headers ?? {},
    share: rule.share === undefined ? 1 : Number.parseFloat(rule.share) / 100,
    by: dividedBy(rule),
    targets: rule.to === undefined ? undefined : ownTargets(options, rule.to),
    only: rule.only && new Set(rule.only),
  }))
/** They are tried before other targets, whatever balance the route has. */
const ownTargets = (options: ModelOptions, to: ModelOptions['to']): readonly Target[] =>
  addRules(targetsOf({ ...options, to }), sendingRulesOf(options) ?? {})
export const insertCaptured = (
  rules: readonly RoutingRule[],
  captures: Captures,
): readonly RoutingRule[] =>
  rules.map(rule =>
    rule.targets ? { ...rule, targets: insertNames(rule.targets, captures) } : rule,
  )
export const nameOfRule = ({ name }: RuleOptions, index: number): string =>
  name ?? `rule-${index + 1}`

/** Whether a rule holds for a request. */
export const ruleHolds = (rule: Conditions, facts: RoutingFacts): boolean =>
  Object.entries(rule.headers).every(([name, values]) =>
    [values].flat().includes(facts.headers[name.toLowerCase()] ?? ''),
  ) &&
  rule.tags.every(([name, values]) => values.includes(facts.tags[name] ?? '')) &&
  (!rule.zones || rule.zones.some(zone => facts.zones.includes(zone))) &&
  holds(rule.when, pricingFactsOf(facts)) === true &&
  (rule.share === 1 || pointOf(`${rule.name} ${facts.ids[rule.by]}`) < rule.share)

/** For `tollgate explain`: each condition with the value of the request. Values of headers may be
 *  secret. */
export const explainRule = (rule: RoutingRule, facts: RoutingFacts): Json => {
  const of = (name: string, is: string, own: Partial<Conditions>) => ({
    on: name,
    ...(is !== '' && { is }),
    holds: ruleHolds({ ...ALWAYS, name: rule.name, by: rule.by, ...own }, facts),
  })
  const { when, tags, zones, headers, share, by } = rule
  const conditions = [
    ...when.map(each => {
      const name = 'name' in each ? each.name : each.kind
      return of(name, requestValue(facts, name), { when: [each] })
    }),
    ...tags.map(tag => of(`tag ${tag[0]}`, facts.tags[tag[0]] ?? '', { tags: [tag] })),
    ...(zones ? [of('zone', facts.zones.join(', '), { zones })] : []),
    ...Object.keys(headers).map(name =>
      of(`header ${name}`, '', { headers: { [name]: headers[name] ?? '' } }),
    ),
    ...(share < 1 ? [of(`share of each ${by}`, '', { share })] : []),
  ]
  return { rule: rule.name, holds: ruleHolds(rule, facts), conditions }
}
const ALWAYS = { when: [], tags: [], zones: undefined, headers: {}, share: 1 } as const
const requestValue = (facts: RoutingFacts, name: string): string => {
  if (name === 'time' || name === 'weekdays') return new Date(facts.at).toISOString()
  if (name === 'prompt') return `${estimatePromptTokens(facts.body, facts.size)} tokens`
  return attributeOf(facts, name) ?? ''
}

const MILLION = 1_000_000n
const pricingFactsOf = (facts: RoutingFacts): PricingFacts => ({
  at: facts.at,
  quantity(name) {
    if (name !== 'prompt') return { least: 0n, most: undefined }
    const tokens = BigInt(estimatePromptTokens(facts.body, facts.size)) * MILLION
    return { least: tokens, most: tokens }
  },
  attribute: name => [attributeOf(facts, name)],
})
const attributeOf = (facts: RoutingFacts, name: string): string | undefined => {
  const { body, route, account, member, key } = facts
  const own: Readonly<Record<string, string>> = { route, account, member, key }
  if (Object.hasOwn(own, name)) return own[name]
  if (!Object.hasOwn(body, name)) return undefined
  const value = body[name]
  if (Array.isArray(value)) return String(value.length > 0)
  return typeof value === 'object' ? String(value !== null) : String(value)
}

/** Hashes a text to a number from 0 to 1. Do not change it: shares would move. */
const pointOf = (text: string): number =>
  createHash('sha256').update(text).digest().readUInt32BE(0) / 2 ** 32

/** The targets of a request that a rule matches. With a share, the targets of the model come after
 *  those of the rule; without one, only the fallbacks of the model do. */
export const targetsByRule = (
  rule: RoutingRule,
  all: readonly Target[],
  /** How many of all are the model's own, which come first. */
  count: number,
): readonly Target[] => {
  const { targets, share } = rule
  const [own, fallbacks] = [all.slice(0, count), all.slice(count)]
  return targets ? [...targets, ...(share < 1 ? own : []), ...fallbacks] : all
}
/** The targets that `only` permits. */
export const permittedBy = (
  { only }: RoutingRule,
  targets: readonly Target[],
): readonly Target[] => (only ? targets.filter(({ upstream }) => only.has(upstream)) : targets)
