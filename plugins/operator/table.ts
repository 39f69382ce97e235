/** The table of operations. */
import type { Operation } from './operation.ts'
import { accountOperations } from './operations/accounts.ts'
import { alertOperations } from './operations/alerts.ts'
import { batchOperations } from './operations/batches.ts'
import { codeOperations } from './operations/codes.ts'
import { configurationOperations } from './operations/configuration.ts'
import { creditOperations } from './operations/credits.ts'
import { keyOperations } from './operations/keys.ts'
import { recordOperations } from './operations/log/records.ts'
import { memberOperations } from './operations/members.ts'
import { budgetAndPlanOperations } from './operations/plans/table.ts'
import { sessionOperations } from './operations/sessions.ts'
import { statementOperations } from './operations/statements.ts'
import { taskOperations } from './operations/tasks.ts'
import { webhookOperations } from './operations/webhooks/operations.ts'

export const OPERATIONS: readonly Operation[] = [
  ...accountOperations,
  ...memberOperations,
  ...keyOperations,
  ...budgetAndPlanOperations,
  ...codeOperations,
  ...creditOperations,
  ...statementOperations,
  ...sessionOperations,
  ...taskOperations,
  ...batchOperations,
  ...webhookOperations,
  ...alertOperations,
  ...configurationOperations,
  ...recordOperations,
]
