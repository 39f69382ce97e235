/** The command `tollgate webhooks`. */
import type { Command } from '../../engine/plugin.ts'
import { subcommandsOf } from '../operator/command-line.ts'
import { webhookOperations } from '../operator/operations/webhooks/operations.ts'

export const commands: Readonly<Record<string, Command>> = {
  webhooks: {
    summary: 'Shows webhook events and mails, sends events again, and sets mail addresses.',
    subcommands: subcommandsOf(webhookOperations),
  },
}
