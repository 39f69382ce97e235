/** The command `tollgate config`. */
import type { Command } from '../../engine/plugin.ts'
import { subcommandsOf } from '../operator/command-line.ts'
import { configurationOperations } from '../operator/operations/configuration.ts'

export const commands: Readonly<Record<string, Command>> = {
  config: {
    summary: 'Writes providers, models, prices and limits into the files of the configuration.',
    subcommands: subcommandsOf(configurationOperations),
  },
}
