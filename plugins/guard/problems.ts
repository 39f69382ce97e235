/** Checks `guards:` and the guards of routes beyond their schemas. */
import { choicesFor } from '../../engine/config/nearest.ts'
import { isFields, routesIn } from '../../engine/kit.ts'
import type { Advise, Document, Report } from '../../engine/plugin.ts'
import { modelsIn, namesIn, unknownModelIn } from '../catalogue/configured.ts'
import { unmetByModel } from '../catalogue/model-places.ts'
import { patternFinder } from '../finders/patterns.ts'
import { describeUnmet, type Place } from '../zones/rule.ts'
import { decidesOn, type Guard, SECTION, SIDES } from './section.ts'

export const problemsIn = (document: Document, report: Report): void => {
  const { guards } = document
  const named = SECTION.read((guards ?? {}) as never)
  for (const [name, guard] of Object.entries(named)) checkGuard(name, guard, document, report)
  for (const [index, route] of routesIn(document)) {
    if (route.guard === undefined) continue
    for (const [position, name] of [route.guard].flat().entries()) {
      const guard = typeof name === 'string' && Object.hasOwn(named, name) ? named[name] : undefined
      const demand =
        guard && isFields(route.zone) ? unmetBy(guard, route.zone, document) : undefined
      if (demand !== undefined) {
        const message = `the route demands ${demand}, so "${name}" would never be asked; set its zone, or use another guard`
        report(['routes', index, 'guard'], 'GUARD_ZONE', message)
      }
      if (guard && route.realtime === true && cannotDecide(guard)) {
        const message = `"${name}" cannot decide about answers of realtime sessions: use a guard with \`on: request\`, or one with finders`
        report(['routes', index, 'guard'], 'GUARD_REALTIME', message)
      }
      if (typeof name !== 'string' || guard) continue
      const { choices, suggestion } = choicesFor(name, 'guards', Object.keys(named))
      const message = `no guard is named "${name}"${choices}`
      const entry = Array.isArray(route.guard) ? [position] : []
      report(['routes', index, 'guard', ...entry], 'GUARD_UNKNOWN', message, suggestion)
    }
  }
}

/** Whether a webhook or a model shall decide about answers: realtime sessions wait for neither. */
const cannotDecide = (guard: Guard): boolean =>
  (guard.webhook ?? guard.model) !== undefined && decidesOn(guard, 'answer')

/** The demand of a route that neither the webhook nor the model of a guard satisfies. */
const unmetBy = (guard: Guard, demand: Place, document: Document): string | undefined => {
  const { webhook, model = '', zone = [], retention } = guard
  if (webhook !== undefined) return describeUnmet(demand, { zones: zone, retention })
  return unmetByModel(demand, model, document)
}

/** Advice on guards that no route names. */
export const adviseOnGuards = (document: Document, advise: Advise): void => {
  const { guards } = document
  if (!isFields(guards)) return
  const named = new Set(routesIn(document).flatMap(([, { guard }]) => [guard].flat()))
  for (const name of Object.keys(guards))
    if (!named.has(name))
      advise(
        ['guards', name],
        'warning',
        'GUARD_UNUSED',
        `the guard "${name}" reads nothing: no route names it; add \`guard: ${name}\` to a route`,
      )
}

/** Whether the document has this option of a guard, not only its default. */
const isWritten = ({ guards }: Document, name: string, key: keyof Guard): boolean => {
  const guard = isFields(guards) ? guards[name] : undefined
  return isFields(guard) && guard[key] !== undefined
}
const checkGuard = (name: string, guard: Guard, document: Document, report: Report): void => {
  const problem = (key: string, message: string): void =>
    report(['guards', name, key], 'GUARD_OPTION', message)
  const { find, words, words_file: file, patterns = {}, webhook, model, on } = guard
  const hasFinders = (find ?? words ?? file ?? Object.keys(patterns)[0]) !== undefined
  if (!hasFinders && webhook === undefined && model === undefined)
    report(
      ['guards', name],
      'GUARD_OPTION',
      'it finds nothing: it needs `find`, `words`, `words_file`, `patterns`, `webhook` or `model`',
    )
  const decider = webhook === undefined ? 'model' : 'webhook'
  if ((webhook ?? model) !== undefined && guard.on_error === undefined)
    problem(decider, 'say with `on_error: block` or `on_error: pass` what happens if it fails')
  if (webhook !== undefined && !hasFinders && on && !SIDES.some(side => decidesOn(guard, side)))
    problem('on', 'a webhook cannot mask answers: use `do: block`, `flag` or `shadow`')
  checkModel(name, guard, document, report)
  for (const key of ['zone', 'retention'] as const)
    if (guard[key] !== undefined && webhook === undefined)
      problem(key, 'only a webhook has it: a model has the zones of its upstreams')
  if (isWritten(document, name, 'max_bytes') && webhook === undefined && model === undefined)
    problem('max_bytes', 'only a webhook or a model has it: finders read texts of any length')
  if (guard.restore && guard.do !== 'mask') problem('restore', 'only `do: mask` has placeholders')
  for (const [key, pattern] of Object.entries(patterns))
    try {
      patternFinder(key, pattern, guard.longest)
    } catch (error) {
      const message = `the pattern is refused by RE2: ${(error as Error).message}`
      report(['guards', name, 'patterns', key], 'GUARD_OPTION', message)
    }
}

const checkModel = (name: string, guard: Guard, document: Document, report: Report): void => {
  const problem = (key: string, message: string, suggestion?: string): void =>
    report(['guards', name, key], 'GUARD_OPTION', message, suggestion)
  const { model, prompt, labels, webhook } = guard
  if (model === undefined) {
    if (prompt !== undefined) problem('prompt', 'only `model:` reads it')
    if (labels !== undefined) problem('labels', 'only `model:` reads them')
    return
  }
  if (webhook !== undefined) problem('webhook', 'a guard has a webhook or a model, not both')
  if (prompt === undefined && labels === undefined)
    problem('model', 'say by `prompt` or `labels` what it looks for')
  if (guard.do === 'mask')
    problem('do', 'a model decides and cannot mask: use `do: block`, `flag` or `shadow`')
  if (!isWritten(document, name, 'timeout'))
    problem('model', 'say with `timeout` how long a request may wait for it')
  const models = modelsIn(document)
  const names = namesIn(models)
  const isKnown = unknownModelIn([model], { section: () => models as never }) === undefined
  if (names.length > 0 && isKnown) return
  const { choices, suggestion } = choicesFor(model, 'models', names)
  problem('model', `no model is named "${model}"${choices}`, suggestion)
}
