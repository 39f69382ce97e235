/** The commands of the ledger: `tollgate archive`, `audit`, `export` and `quote`. */
import type { Command } from '../../../engine/plugin.ts'
import { auditCommand } from '../audit.ts'
import { archiveCommand } from './archive.ts'
import { exportCommand } from './export.ts'
import { type Models, quoteCommand } from './quote.ts'

export const ledgerCommands = (models: Models): Readonly<Record<string, Command>> => ({
  archive: archiveCommand,
  audit: auditCommand,
  export: exportCommand,
  quote: quoteCommand(models),
})
