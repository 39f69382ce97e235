/** Problems of `mirror:` of models that no schema can see. */
import { nearest } from '../../engine/config/nearest.ts'
import { isFields } from '../../engine/kit.ts'
import type { Advise, Document, Report } from '../../engine/plugin.ts'
import { type Currency, compileCurrency } from '../billing/currency.ts'
import type { Where } from '../billing/problems.ts'
import { compileRule } from '../billing/rule.ts'
import type { BillingOptions } from '../billing/schema.ts'
import { modelEntriesIn } from '../catalogue/configured.ts'
import { amountIn } from '../ledger/budgets/terms.ts'

export const checkModels = (document: Document, report: Report): void => {
  const { pipeline, upstreams, settings } = document
  const known = Object.keys(isFields(upstreams) ? upstreams : {})
  const currency = isFields(settings) ? settings.currency : undefined
  for (const [name, { mirror }] of modelEntriesIn(document)) {
    if (!isFields(mirror)) continue
    const { to, price, budget } = mirror
    const where = ['models', name, 'mirror']
    if (Array.isArray(pipeline) && !pipeline.includes('mirror')) {
      const message = 'nothing is copied: `pipeline:` has no `mirror`; add it behind `guard`'
      report(where, 'MIRROR_OPTION', message)
    }
    const upstream = String(to).split('/', 1)[0] ?? ''
    if (!known.includes(upstream)) {
      const message = `no upstream is named "${upstream}"`
      report([...where, 'to'], 'MIRROR_OPTION', message, nearest(upstream, known))
    }
    const context = { currency: compileCurrency(currency, [], () => {}), where, report }
    if (budget !== undefined) checkBudget(mirror, context)
    if (price === undefined) continue
    compileRule({ price } as BillingOptions, context)
  }
}

/** Advice on mirrors whose cost nothing limits. */
export const adviseOnMirrors = (document: Document, advise: Advise): void => {
  for (const [name, { mirror }] of modelEntriesIn(document))
    if (isFields(mirror) && mirror.budget === undefined)
      advise(
        ['models', name, 'mirror'],
        'warning',
        'MIRROR_UNLIMITED',
        `nothing limits what copies of "${name}" cost you; add \`price\` and \`budget\``,
      )
}

const checkBudget = (
  { budget, price }: Readonly<Record<string, unknown>>,
  { currency, where, report }: { currency: Currency; where: Where; report: Report },
): void => {
  if (price === undefined) {
    const message = 'the budget counts nothing: `price` says what a copy costs you'
    report([...where, 'budget'], 'MIRROR_OPTION', message)
  }
  if (!isFields(budget)) return
  const at = [...where, 'budget', 'amount']
  if (amountIn(budget.amount, at, currency, report) === 0n)
    report(at, 'MIRROR_OPTION', 'a budget is above 0')
}
