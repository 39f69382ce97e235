/** The table of operations. */
import type { Operation } from './operation.ts'
import { accountOperations } from './operations/accounts.ts'
import { batchOperations } from './operations/batches.ts'
import { keyOperations } from './operations/keys.ts'
import { sessionOperations } from './operations/sessions.ts'
import { taskOperations } from './operations/tasks.ts'
import { webhookOperations } from './operations/webhooks.ts'

export const OPERATIONS: readonly Operation[] = [
  ...accountOperations,
  ...keyOperations,
  ...sessionOperations,
  ...taskOperations,
  ...batchOperations,
  ...webhookOperations,
]
