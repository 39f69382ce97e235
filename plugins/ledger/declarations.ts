/** The ledger's settings, sections and tables. */
import { schemasOf } from '../../engine/config/shape.ts'
import { CURRENCY } from '../billing/currency.ts'
import { DEFAULT_TIERS, UNPRICED } from '../billing/schema.ts'
import { TIER_RULE } from '../conversion/tier-gate.ts'
import { SECTION as BUDGETS } from './budgets/section.ts'
import { migrations } from './tables.ts'

export const LEDGER = {
  settings: schemasOf({ currency: CURRENCY, unpriced: UNPRICED, tiers: TIER_RULE }),
  upstream: schemasOf({ default_tiers: DEFAULT_TIERS }),
  sections: { budgets: BUDGETS.schema },
  migrations,
}
