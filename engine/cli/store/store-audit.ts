/** Opens a store with current tables, and audits it with every command of the group `audit`. */
import { openDatabase } from '../../store/database.ts'
import { createLazyDatabase } from '../../store/lazy-database.ts'
import type { Command, Terminal } from '../command.ts'
import { EXIT } from '../kit.ts'
import type { Open } from '../load-for-command.ts'

/** Empty: all audits passed. Otherwise what they found. */
export const auditStore = async (
  commands: ReadonlyMap<string, Command>,
  terminal: Terminal,
): Promise<readonly string[]> => {
  const group = commands.get('audit')
  const audits = group && 'subcommands' in group ? Object.values(group.subcommands) : []
  const findings: string[] = []
  for (const audit of audits) {
    const result = await audit.run({ values: {}, positionals: [] }, terminal)
    const exit = typeof result === 'number' ? result : (result.exit ?? EXIT.ok)
    if (exit !== EXIT.ok) findings.push(typeof result === 'number' ? '' : (result.text ?? ''))
  }
  return findings
}

/** The configured database with the tables of this release: loading a configuration creates or
 *  migrates them. `isAnyway`: also a store that was moved. */
export const migratedDatabase =
  (isAnyway = false): Open =>
  ({ database: url, data }) =>
    createLazyDatabase(() => openDatabase({ url, data, start: true, isAnyway }))
