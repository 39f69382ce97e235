/** The operations on budgets and plans, for the table of operations. */
import { budgetOperations } from '../budgets/operations.ts'
import { planOperations } from './operations.ts'

export const budgetAndPlanOperations = [...budgetOperations, ...planOperations] as const
