/** The table of operations. */
import type { Operation } from './operation.ts'
import { accountOperations } from './operations/accounts.ts'

export const OPERATIONS: readonly Operation[] = [...accountOperations]
