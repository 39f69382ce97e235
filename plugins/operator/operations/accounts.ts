/** The operations on accounts. */
import type { Operation } from '../operation.ts'
import { accountsCreate, accountsLimit, accountsRename } from './account-changes.ts'
import { accountsList, accountsShow, accountsUsage } from './account-reads.ts'
import { accountsDelete, accountsLink, suspension } from './account-states.ts'
import { moneyOperations } from './money.ts'

/** In the order of the help. */
export const accountOperations: readonly Operation[] = [
  accountsCreate,
  accountsLink,
  accountsLimit,
  accountsList,
  accountsShow,
  accountsUsage,
  accountsRename,
  accountsDelete,
  ...moneyOperations,
  suspension('suspend', 'Refuses every call of an account until it is resumed.'),
  suspension('resume', 'Resumes a suspended account.'),
]
