/** The commands of the plugin `account`. */
import type { Command } from '../../engine/plugin.ts'
import { applyCommand } from '../declared-accounts/command.ts'
import { subcommandsOf } from '../operator/command-line.ts'
import { importKeys } from '../operator/import-command.ts'
import { accountOperations } from '../operator/operations/accounts.ts'
import { keyOperations } from '../operator/operations/keys.ts'
import { memberOperations } from '../operator/operations/members.ts'
import { moneyCommands } from './money-commands.ts'
import { usageCommand } from './usage-command.ts'

export const commands: Readonly<Record<string, Command>> = {
  accounts: {
    summary: 'Manages accounts and their money.',
    standalone: true,
    subcommands: subcommandsOf(accountOperations),
  },
  apply: { ...applyCommand, standalone: true },
  usage: usageCommand,
  members: {
    summary: 'Members of a team and their roles.',
    standalone: true,
    subcommands: subcommandsOf(memberOperations),
  },
  ...moneyCommands,
  keys: {
    summary: 'Manages API keys and system tokens.',
    standalone: true,
    subcommands: { ...subcommandsOf(keyOperations), import: importKeys },
  },
}
