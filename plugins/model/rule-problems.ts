/** Problems of the rules of a model that no schema can see. */
import { choicesFor, nearest } from '../../engine/config/nearest.ts'
import { isFields } from '../../engine/kit.ts'
import type { Advise, Report } from '../../engine/plugin.ts'
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
import { conditionsOf, type ModelOptions } from '../catalogue/section.ts'
import { targetsOf } from '../catalogue/targets.ts'

export interface RuleScope {
  readonly upstreams: ReadonlySet<string>
  /** Whether `pipeline:` has the stage that reads tags. */
  readonly hasTags: boolean
}
const NO_TAGS = 'no call gets tags: `pipeline:` has no `tags`; add it before `meter`'

export const checkRules = (
  name: string,
  options: ModelOptions,
  { upstreams, hasTags }: RuleScope,
  report: Report,
): void => {
  const names = new Set<string>()
  const compiled = routingRulesOf(options)
  for (const [index, rule] of (options.rules ?? []).entries()) {
    const where = ['models', name, 'rules', index]
    if (compileConditions(rule, where, problemReporter(report)))
      checkNames(rule.when, options, [...where, 'when'], report)
    const own = nameOfRule(rule, index)
    if (names.has(own)) report(where, 'MODEL_RULE', `two rules are named "${own}"`)
    names.add(own)
    if (!hasTags && Object.keys(conditionsOf(rule).tags).length > 0)
      report([...where, 'when', 'tags'], 'MODEL_RULE', NO_TAGS)
    if (rule.to === undefined && rule.only === undefined)
      report(where, 'MODEL_RULE', 'the rule needs `to` or `only`: it sends nothing elsewhere')
    const each = compiled[index]
    if (each && checkUpstreams(each, where, upstreams, report) && leavesNone(each, options))
      report([...where, 'only'], 'MODEL_RULE', '`only` leaves no target: every request is refused')
  }
}

/** Advice on rules behind one that holds for every request. */
export const adviseOnRules = (
  models: Readonly<Record<string, ModelOptions>>,
  advise: Advise,
): void => {
  for (const [name, options] of Object.entries(models)) {
    const rules = options.rules ?? []
    const last = rules.findIndex(({ when, share }) => when === undefined && share === undefined)
    if (last < 0 || last === rules.length - 1) continue
    const first = nameOfRule(rules[last] ?? {}, last)
    const message = `no request gets to this rule: "${first}" before it holds for all; give that one \`when\` or \`share\`, or move it to the end`
    advise(['models', name, 'rules', last + 1], 'warning', 'RULE_UNREACHED', message)
  }
}

/** Facts that a condition can compare beside members of the body. */
const FACTS = 'prompt time weekdays route account member key tags zone'.split(' ')
/** Members of bodies that conditions compare. Formats have others, so that only a name near to one
 *  of these is a mistake. */
const MEMBERS =
  'background conversation dimensions instructions input max_completion_tokens max_output_tokens max_tokens messages metadata modalities parallel_tool_calls previous_response_id quality reasoning_effort resolution response_format seed service_tier size speed stop store stream style temperature thinking tool_choice tools top_k top_logprobs top_p user verbosity voice'.split(
    ' ',
  )
/** Reports names of conditions that are near to a known one. Members that `accepts` names are
 *  known, too. */
const checkNames = (
  when: unknown,
  { accepts = {} }: ModelOptions,
  where: readonly (string | number)[],
  report: Report,
): void => {
  const own = Object.values(accepts).flatMap(schema =>
    isFields(schema) && isFields(schema.properties) ? Object.keys(schema.properties) : [],
  )
  const known = [...FACTS, ...MEMBERS, ...own]
  for (const name of isFields(when) ? Object.keys(when) : []) {
    const suggestion = known.includes(name) ? undefined : nearest(name, known)
    if (suggestion !== undefined)
      report(
        [...where, name],
        'MODEL_RULE',
        `a condition cannot compare "${name}"; if bodies have this member, name it in \`accepts\``,
        suggestion,
      )
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
