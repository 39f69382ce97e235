/** The table of operations. */
import type { Operation } from './operation.ts'
import { accountOperations } from './operations/accounts.ts'
import { keyOperations } from './operations/keys.ts'
import { sessionOperations } from './operations/sessions.ts'

export const OPERATIONS: readonly Operation[] = [
  ...accountOperations,
  ...keyOperations,
  ...sessionOperations,
]
