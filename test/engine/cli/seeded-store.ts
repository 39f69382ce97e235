/** A data folder with accounts, keys, credits and charges whose ledger balances, as a gateway would
 *  leave it. */
import { DatabaseSync } from 'node:sqlite'
import type { Test } from 'tap'
import { withPluginCommands } from '../../../engine/cli/plugin-commands.ts'
import { migratedDatabase } from '../../../engine/cli/store/store-audit.ts'
import { usedFolder } from '../../helpers/cache.ts'
import { recordingTerminal } from '../../helpers/gateway/command-line.ts'
import { temporaryFolder } from '../../helpers/store/store.ts'

/** Nanos. */
const CREDIT = 5_000_000_000
const AMOUNT = 1_234_567

/** Rows of `charges` go to the accounts in turn. Resolves to the data folder. */
export const seededStore = async (
  t: Test,
  config: string,
  { accounts, charges }: { readonly accounts: number; readonly charges: number },
): Promise<string> => {
  const dataFolder = usedFolder(`${temporaryFolder(t)}/data`)
  const env = { TOLLGATE_DATA: dataFolder, TOLLGATE_CONFIG: config }
  // Loading the configuration creates the tables.
  await withPluginCommands(config, recordingTerminal(env), migratedDatabase(), async () => {})
  const store = new DatabaseSync(`${dataFolder}/tollgate.db`)
  const digits = 'WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)'
  store.exec("BEGIN; DELETE FROM accounts; INSERT INTO tollgate_secrets VALUES ('seed', 'c2VlZA')")
  const run = (text: string, ...values: number[]) => store.prepare(text).run(...values)
  run(
    `${digits} INSERT INTO accounts (id, name, role, created, suspended)
       SELECT n, 'account ' || n || ' é✓', 'customer', n, NULL FROM n`,
    accounts,
  )
  run(
    `${digits} INSERT INTO api_keys (id, account, name, digest, prefix, last_four, created, change)
     SELECT n, n, 'key', 'digest ' || n, 'sk-', 'abcd', n, n FROM n`,
    accounts,
  )
  run(
    `${digits} INSERT INTO wallets (id) SELECT n * 2 FROM n WHERE n * 2 NOT IN (SELECT id FROM wallets)`,
    accounts,
  )
  // A trigger adds the credits to the wallets.
  run(
    `${digits} INSERT INTO credits (id, account, kind, amount, note, at)
     SELECT n, n, 'credit', ${CREDIT}, 'seed', n FROM n`,
    accounts,
  )
  if (charges > 0)
    run(
      `${digits} INSERT INTO charges (request, account, key, route, model, version, rule, state, held,
         amount, usage, lines, opened, closed, serial)
       SELECT 'r' || n, 1 + n % ${accounts}, 1 + n % ${accounts}, 'chat', 'm', 1, '{}', 'settled',
         ${AMOUNT}, ${AMOUNT}, '{"input":10}', '[]', n, n, ${accounts} FROM n`,
      charges,
    )
  store.exec(`UPDATE wallets SET (balance, used) = (SELECT balance - total, total FROM
    (SELECT coalesce(sum(amount), 0) AS total FROM charges WHERE account = wallets.account))
    WHERE account IS NOT NULL; COMMIT`)
  store.close()
  return dataFolder
}
