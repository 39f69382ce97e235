/** Writes the accounts of an import to the store of its configuration. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Terminal } from '../../../engine/cli/command.ts'
import { existingDatabase, newDatabase } from '../../../engine/cli/databases.ts'
import { UsageError } from '../../../engine/cli/kit.ts'
import { type Open, settingsOf } from '../../../engine/cli/load-for-command.ts'
import { withPluginCommands } from '../../../engine/cli/plugin-commands.ts'
import { runPluginCommand } from '../../../engine/cli/run-command.ts'
import type { Json } from '../../../engine/plugin.ts'
import { isPostgres, locate } from '../../../engine/store/database.ts'

/** Adds accounts and keys by `tollgate keys import`, to a new store or to that of a gateway.
 *  `options`: of that command. Resolves to the exit code. */
export const addAccounts = async (
  config: string,
  accounts: readonly Json[],
  options: readonly string[],
  terminal: Terminal,
): Promise<number> => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-accounts-'))
  const file = join(folder, 'accounts.json')
  try {
    writeFileSync(file, JSON.stringify({ accounts }), { mode: 0o600 })
    return await withPluginCommands(
      config,
      terminal,
      openFor(config, terminal, options),
      async commands => {
        const keys = commands.get('keys')
        if (!keys) throw new UsageError(`${config} has no plugin auth, so no accounts`)
        return runPluginCommand('keys', keys, ['import', file, ...options], terminal)
      },
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
}
/** The gateway may not have started yet. */
const openFor = (config: string, terminal: Terminal, options: readonly string[]): Open => {
  const { database: url, data } = settingsOf(config, terminal)
  const isThere = !isPostgres(url) && existsSync(locate(url, data).file)
  const isAnyway = options.includes('--anyway')
  return isThere ? existingDatabase(terminal, isAnyway) : newDatabase(isAnyway)
}
