/** The commands of the ledger: `tollgate archive`, `audit`, `export` and `quote`. */
import type { Command, SingleCommand } from '../../../engine/plugin.ts'
import { auditCommand } from '../audit.ts'
import { archiveCommand } from './archive.ts'
import { exportCommand } from './export.ts'
import { type Models, quoteCommand } from './quote.ts'

export const ledgerCommands = (
  models: Models,
  exports: Readonly<Record<string, SingleCommand>>,
): Readonly<Record<string, Command>> => ({
  archive: archiveCommand,
  audit: auditCommand,
  export: exportCommand(exports),
  quote: quoteCommand(models),
})
