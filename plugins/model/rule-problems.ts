/** Problems of the rules of a model that no schema can see. */
import { choicesFor } from '../../engine/config/nearest.ts'
import type { Report } from '../../engine/plugin.ts'
import { problemReporter } from '../billing/problems.ts'
import { fallbacksOf } from '../catalogue/catalogue.ts'
import {
  compileConditions,
  nameOfRule,
  permittedBy,
  type RoutingRule,
  routingRulesOf,
  targetsByRule,
} from '../catalogue/rules.ts'
import type { ModelOptions } from '../catalogue/section.ts'
import { targetsOf } from '../catalogue/targets.ts'

export const checkRules = (
  name: string,
  options: ModelOptions,
  upstreams: ReadonlySet<string>,
  report: Report,
): void => {
  const names = new Set<string>()
  const compiled = routingRulesOf(options)
  for (const [index, rule] of (options.rules ?? []).entries()) {
    const where = ['models', name, 'rules', index]
    compileConditions(rule, where, problemReporter(report))
    const own = nameOfRule(rule, index)
    if (names.has(own)) report(where, 'MODEL_RULE', `two rules are named "${own}"`)
    names.add(own)
    if (rule.to === undefined && rule.only === undefined)
      report(where, 'MODEL_RULE', 'the rule needs `to` or `only`: it sends nothing elsewhere')
    const each = compiled[index]
    if (each && checkUpstreams(each, where, upstreams, report) && leavesNone(each, options))
      report([...where, 'only'], 'MODEL_RULE', '`only` leaves no target: every request is refused')
  }
}

/** Whether all upstreams are known; unknown ones of `to` are reported with the targets. */
const checkUpstreams = (
  { targets = [], only = new Set() }: RoutingRule,
  where: readonly (string | number)[],
  upstreams: ReadonlySet<string>,
  report: Report,
): boolean => {
  const unknown = [...only].filter(each => !upstreams.has(each))
  for (const upstream of unknown) {
    const { choices, suggestion } = choicesFor(upstream, 'upstreams', [...upstreams])
    const message = `no upstream is named ${JSON.stringify(upstream)}${choices}`
    report([...where, 'only'], 'UNKNOWN_UPSTREAM', message, suggestion)
  }
  return unknown.length === 0 && targets.every(each => upstreams.has(each.upstream))
}

/** Whether `only` leaves no target. With fallbacks, a target of a fallback may remain. */
const leavesNone = (rule: RoutingRule, options: ModelOptions): boolean => {
  const own = targetsOf(options)
  return (
    fallbacksOf(options).length === 0 &&
    permittedBy(rule, targetsByRule(rule, own, own.length)).length === 0
  )
}
