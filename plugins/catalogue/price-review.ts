/** Prices in the commands of the engine: what a change does to them (`tollgate diff`), and prices
 *  that are probably not intended (`tollgate lint`). Pure. */
import { isFields } from '../../engine/kit.ts'
import type { Advise, CommandParts, Document, Effect, Json } from '../../engine/plugin.ts'
import { compileCurrency } from '../billing/currency.ts'
import { SUM_OF } from '../billing/meters.ts'
import { printRate, type Rate } from '../billing/rate.ts'
import { compileRule, type Rule } from '../billing/rule.ts'
import type { BillingOptions } from '../billing/schema.ts'
import type { Table } from '../billing/table.ts'
import { adviseOnOpenRoutes } from '../credentials/open-routes.ts'

/** Reads the section of models. */
type ReadModels = (document: Document) => Readonly<Record<string, ModelPrice>>
interface ModelPrice extends BillingOptions {
  readonly traits?: { readonly [key: string]: Json }
}

export const priceReview = (
  modelsIn: ReadModels,
): Required<Pick<CommandParts, 'lint' | 'effects'>> => ({
  lint(document, advise) {
    adviseOnOpenRoutes(document, advise)
    adviseOnPipeline(document, advise)
    const models = modelsIn(document)
    const rules = rulesIn(models, document)
    for (const [name, rule] of rules) adviseOnRule(name, rule, models[name], advise)
    adviseOnPlans(document, rules, advise)
  },
  effects(before, after) {
    const old = subjectsIn(modelsIn(before), before)
    const current = subjectsIn(modelsIn(after), after)
    return [...new Set([...old.keys(), ...current.keys()])].flatMap(subject =>
      compare(subject, old.get(subject), current.get(subject)),
    )
  },
})

// ---------------------------------------------------------------- prices

interface RouteOptions {
  readonly name?: string
  readonly path: string
  readonly meter?: BillingOptions
}
const routesIn = ({ routes }: Document): readonly RouteOptions[] =>
  (Array.isArray(routes) ? routes : []) as readonly RouteOptions[]
const currencyIn = ({ settings }: Document) =>
  compileCurrency((settings as { readonly currency?: Json } | undefined)?.currency, [], () => {})
const compiled = (options: BillingOptions, document: Document): Rule | undefined =>
  compileRule(options, { currency: currencyIn(document), where: [], report: () => {} })

/** The rule of each model that has a valid price. */
const rulesIn = (models: ReturnType<ReadModels>, document: Document): ReadonlyMap<string, Rule> =>
  new Map(
    Object.entries(models).flatMap(([name, { price, free, max_calls }]) => {
      const options = {
        ...(price !== undefined && { price }),
        ...(free !== undefined && { free }),
        ...(max_calls !== undefined && { max_calls }),
      }
      const rule = compiled(options, document)
      return rule ? [[name, rule] as const] : []
    }),
  )
/** The rules of models, and of routes with a price of their own. */
const subjectsIn = (
  models: ReturnType<ReadModels>,
  document: Document,
): ReadonlyMap<string, Rule> => {
  const subjects = new Map(
    [...rulesIn(models, document)].map(([name, rule]) => [`model ${name}`, rule]),
  )
  for (const { name, path, meter } of routesIn(document)) {
    const hasPrice = meter?.price !== undefined || meter?.free !== undefined
    const rule = hasPrice ? compiled(meter, document) : undefined
    if (rule) subjects.set(`route ${name ?? path}`, rule)
  }
  return subjects
}

// ---------------------------------------------------------------- diff

interface Amount {
  readonly text: string
  /** Undefined: not a single number. */
  readonly number: number | undefined
}
const SCALE = 1e18

/** Every amount of a rule by what it is for: `input when prompt > 200k`, `images hd`. */
const amountsOf = (rule: Rule | undefined): ReadonlyMap<string, Amount> => {
  const amounts = new Map<string, Amount>()
  if (!rule) return amounts
  if (rule.free) return amounts.set('calls', { text: 'free', number: 0 })
  const lines = JSON.parse(rule.text).price as readonly PrintedLine[]
  for (const [index, { meter, table }] of rule.lines.entries()) {
    const when = Object.entries(lines[index]?.when ?? {}).map(([what, is]) => ` when ${what} ${is}`)
    for (const [cell, rate] of cellsOf(table))
      amounts.set(`${meter}${cell}${when.join('')}`, amountOf(rate))
  }
  for (const { discount, min, meter } of lines) {
    if (discount !== undefined)
      amounts.set('discount', { text: JSON.stringify(discount), number: undefined })
    if (meter === undefined && min !== undefined)
      amounts.set('minimum', { text: min, number: Number(min) })
  }
  return amounts
}
interface PrintedLine {
  readonly meter?: string
  readonly when?: { readonly [what: string]: Json }
  readonly min?: string
  readonly discount?: Json
}
const cellsOf = (table: Table, keys = ''): readonly (readonly [cell: string, rate: Rate])[] =>
  table instanceof Map
    ? [...table].flatMap(([key, inner]) => cellsOf(inner, `${keys} ${key}`))
    : [[keys, table as Rate]]
const amountOf = (rate: Rate): Amount => ({
  text: printRate(rate),
  number: Number(rate.price) / SCALE / Number(rate.per),
})

const compare = (
  subject: string,
  before: Rule | undefined,
  after: Rule | undefined,
): readonly Effect[] => {
  const [old, current] = [amountsOf(before), amountsOf(after)]
  return [...new Set([...old.keys(), ...current.keys()])].flatMap(item => {
    const [from, to] = [old.get(item), current.get(item)]
    if (from?.text === to?.text) return []
    const percent = percentOf(from?.number, to?.number)
    return [
      {
        subject,
        item,
        before: from?.text,
        after: to?.text,
        ...(percent !== undefined && { percent }),
      },
    ]
  })
}
const percentOf = (from: number | undefined, to: number | undefined): number | undefined =>
  from === undefined || to === undefined || from === 0
    ? undefined
    : Math.round((to / from - 1) * 10_000) / 100

// ---------------------------------------------------------------- lint

const adviseOnPipeline = ({ pipeline, models }: Document, advise: Advise): void => {
  const names = Array.isArray(pipeline) ? pipeline : []
  if (models !== undefined && names.includes('model') && !names.includes('meter'))
    advise(
      ['pipeline'],
      'error',
      'NO_METER',
      'the pipeline has no `meter`: no call is charged, whatever its price; add `meter` after `model`',
    )
}

const adviseOnRule = (
  name: string,
  rule: Rule,
  model: ModelPrice | undefined,
  advise: Advise,
): void => {
  const at = ['models', name]
  if (rule.free) {
    const message = `calls of "${name}" cost customers nothing, also where the upstream charges for them; give it a \`price\``
    advise([...at, 'free'], 'warning', 'FREE_MODEL', message)
    return
  }
  for (const meter of missingMeters(rule, model))
    advise(
      [...at, 'price'],
      'warning',
      'UNPRICED_METER',
      `"${name}" has no price for ${meter}, which then costs nothing; add \`${meter}\`, 0 if that is meant`,
    )
  const zero = [...amountsOf(rule)].every(([, { number }]) => number === 0)
  if (zero)
    advise(
      [...at, 'price'],
      'warning',
      'ZERO_PRICE',
      `every price of "${name}" is 0, so calls cost nothing; write \`free: true\` if that is meant`,
    )
}

/** A plan in tokens pays the share of a call's tokens: none of a call whose price counts none. */
const adviseOnPlans = (
  { plans }: Document,
  rules: ReadonlyMap<string, Rule>,
  advise: Advise,
): void => {
  for (const [plan, value] of Object.entries(isFields(plans) ? plans : {})) {
    if (!isFields(value) || value.tokens === undefined) continue
    for (const model of Array.isArray(value.models) ? value.models : []) {
      const rule = rules.get(String(model))
      if (!rule || rule.free || [...rule.pricingMeters.keys()].some(meter => SUM_OF[meter]))
        continue
      advise(
        ['plans', plan],
        'warning',
        'PLAN_WITHOUT_TOKENS',
        `the plan "${plan}" pays no call of "${model}", since no token has a price there; leave the model out of \`models\`, or limit the plan by \`amount\``,
      )
    }
  }
}

/** A conversation has input and output. Models of other formats (embeddings) name these. */
const missingMeters = (rule: Rule, model: ModelPrice | undefined): readonly string[] => {
  const isConversation = model?.traits?.formats === undefined
  const meters = (['input', 'output'] as const).filter(meter => !rule.pricingMeters.has(meter))
  return isConversation && meters.length === 1 ? meters : []
}
