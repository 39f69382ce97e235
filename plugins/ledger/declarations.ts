/** The ledger's settings, sections and tables. */
import { schemasOf } from '../../engine/config/shape.ts'
import type { Document, Report } from '../../engine/plugin.ts'
import { CURRENCY } from '../billing/currency.ts'
import { DEFAULT_TIERS, UNPRICED } from '../billing/schema.ts'
import { TIER_RULE } from '../conversion/tier-gate.ts'
import { SECTION as BUDGETS, reportBudgets, reportUnusedBudgets } from './budgets/section.ts'
import { SECTION as PLANS, reportPlans, reportUnusedPlans } from './plans/section.ts'
import { migrations } from './tables.ts'

export const LEDGER = {
  settings: schemasOf({ currency: CURRENCY, unpriced: UNPRICED, tiers: TIER_RULE }),
  upstream: schemasOf({ default_tiers: DEFAULT_TIERS }),
  sections: { budgets: BUDGETS.schema, plans: PLANS.schema },
  migrations,
}

/** Reports the mistakes of `budgets:` and `plans:`. */
export const reportSections = (
  document: Document,
  checks: Parameters<typeof reportBudgets>[1],
): void => {
  reportBudgets(document, checks)
  reportPlans(document, checks)
}
/** The same without the stage `meter`: these sections have no effect. */
export const reportUnusedSections = (document: Document, report: Report): void => {
  reportUnusedBudgets(document, report)
  reportUnusedPlans(document, report)
}
