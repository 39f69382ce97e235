/** The commands `tollgate budgets`, `codes`, `credits`, `plans` and `statements`. */
import type { Command } from '../../engine/plugin.ts'
import { subcommandsOf } from '../operator/command-line.ts'
import { budgetOperations } from '../operator/operations/budgets/operations.ts'
import { codeOperations } from '../operator/operations/codes.ts'
import { creditOperations } from '../operator/operations/credits.ts'
import { planOperations } from '../operator/operations/plans/operations.ts'
import { statementOperations } from '../operator/operations/statements.ts'

export const moneyCommands = {
  budgets: {
    summary: 'Budgets of single accounts, API keys and members.',
    subcommands: subcommandsOf(budgetOperations),
  },
  codes: {
    summary: 'Makes and manages codes that customers redeem for credit.',
    standalone: true,
    subcommands: subcommandsOf(codeOperations),
  },
  credits: {
    summary: 'Credits payments by their reference.',
    standalone: true,
    subcommands: subcommandsOf(creditOperations),
  },
  plans: {
    summary: 'Plans of accounts.',
    subcommands: subcommandsOf(planOperations),
  },
  statements: {
    summary: 'Prints statements of accounts.',
    standalone: true,
    subcommands: subcommandsOf(statementOperations),
  },
} satisfies Readonly<Record<string, Command>>
