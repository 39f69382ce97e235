/** `tollgate accounts show`: one account, its state and its money. */
import type { SingleCommand } from '../../engine/plugin.ts'
import { findAccount } from '../credentials/find.ts'
import { LIST_ACCOUNTS } from '../credentials/statements.ts'
import { fundsRow } from './money.ts'

export const showSubcommand: SingleCommand = {
  arguments: 'NAME',
  summary: 'Shows an account, its state and its balance.',
  example: 'tollgate accounts show ann',
  async run({ positionals }, { database }) {
    const account = await findAccount(database, positionals[0] ?? '')
    const money = await fundsRow(database, account)
    // A page of one row that begins with this account.
    const [row] = await database.read(LIST_ACCOUNTS, [account.id - 1, 1])
    const state = (row?.suspended ?? null) === null ? 'active' : 'suspended'
    const summary = {
      ...account,
      role: String(row?.role),
      state,
      keys: Number(row?.keys),
      ...money,
    }
    return { rows: [summary], json: summary }
  },
}
