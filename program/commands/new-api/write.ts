/** Writes what an import made: routes.yaml, variables in .env, and accounts in the store. */
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import type { Terminal } from '../../../engine/cli/command.ts'
import { existingDatabase, newDatabase } from '../../../engine/cli/databases.ts'
import { UsageError } from '../../../engine/cli/kit.ts'
import { type Open, settingsOf } from '../../../engine/cli/load-for-command.ts'
import { withPluginCommands } from '../../../engine/cli/plugin-commands.ts'
import { runPluginCommand } from '../../../engine/cli/run-command.ts'
import { envFileOf } from '../../../engine/config/env-file.ts'
import type { Json } from '../../../engine/plugin.ts'
import { isPostgres, locate } from '../../../engine/store/database.ts'

/** Writes a new configuration; one that exists stays. Throws a UsageError if it differs. */
export const writeConfig = (file: string, yaml: string): void => {
  if (!existsSync(file)) writeFileSync(file, yaml, { flag: 'wx' })
  else if (readFileSync(file, 'utf8') !== yaml)
    throw new UsageError(
      `${file} exists and differs from what this import would write; it was not overwritten. To add accounts and keys only: --accounts`,
    )
}

/** Adds variables that .env does not have; only its owner can read it then. */
export const addVariables = (config: string, variables: ReadonlyMap<string, string>): number => {
  const file = envFileOf(config)
  const before = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const known = parseEnv(before)
  const lines = [...variables].filter(([name]) => known[name] === undefined).map(lineOf)
  if (lines.length === 0) return 0
  const start = before === '' || before.endsWith('\n') ? '' : '\n'
  appendFileSync(file, `${start}${lines.join('\n')}\n`, { mode: 0o600 })
  chmodSync(file, 0o600)
  return lines.length
}
const lineOf = ([name, value]: readonly [string, string]): string => {
  const quote = [`"`, `'`, '`'].find(each => !value.includes(each)) ?? "'"
  return `${name}=${quote === '"' && value.includes('\\') ? `'${value}'` : quote + value + quote}`
}

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
    return await withPluginCommands(config, terminal, openFor(config, terminal), async commands => {
      const keys = commands.get('keys')
      if (!keys) throw new UsageError(`${config} has no plugin auth, so no accounts`)
      return runPluginCommand('keys', keys, ['import', file, ...options], terminal)
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}
/** The gateway may not have started yet. */
const openFor = (config: string, terminal: Terminal): Open => {
  const { database: url, data } = settingsOf(config, terminal)
  const isThere = !isPostgres(url) && existsSync(locate(url, data).file)
  return isThere ? existingDatabase(terminal) : newDatabase
}
