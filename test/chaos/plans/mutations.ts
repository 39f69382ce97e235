/** Bugs in budgets, in plans and in alerts of budgets: wrong books, and shares that are missed or
 *  repeated. */
import { edit, type Mutation } from '../mutation.ts'

const ALERTS = 'test/plugins/ledger/budgets/alerts.test.ts'
const TOKENS = 'test/plugins/ledger/budgets/tokens.test.ts'
const PLAN_TOKENS = 'test/plugins/ledger/plans/tokens.test.ts'
const CRASH = 'plugins/ledger/crash/crash-settlement.ts'
const TOKEN_TABLES = 'plugins/ledger/budgets/token-tables.ts'

export const ofLimits: readonly Mutation[] = [
  {
    bug: 'a share of a budget is alerted by each process that sees it',
    edits: [edit('plugins/alerts/budgets.ts', '[markSent(row, now), ...messages]', 'messages')],
    tests: [ALERTS],
  },
  {
    bug: 'a share of a budget that is reached is not noticed',
    edits: [
      edit('plugins/ledger/budgets/alert-tables.ts', 'threshold <= NEW.used', 'threshold < 0'),
    ],
    tests: [ALERTS],
  },
  {
    bug: 'a refund returns no tokens to its budget',
    edits: [edit(TOKEN_TABLES, "${ofCharge(usedOf('c'))} ELSE", '0 ELSE')],
    tests: [TOKENS],
  },
  {
    bug: 'a budget in tokens counts the hold of a call that a crash has ended',
    edits: [
      edit(CRASH, 'tokens: row.tokens_held == null ? undefined : { used },', 'tokens: undefined,'),
    ],
    tests: [TOKENS],
  },
  {
    bug: 'a plan in tokens pays calls whose price counts none',
    edits: [
      edit(
        'plugins/ledger/budgets/tokens.ts',
        '[...rule.pricedMeters.keys()].some(meter => SUM_OF[meter]) ? tokensHeld(rule, bounds) : 0n',
        'tokensHeld(rule, bounds)',
      ),
    ],
    tests: [PLAN_TOKENS],
  },
]
