/** The commands `tollgate accounts` and `tollgate usage`. */
import { textOf } from '../../engine/cli/kit.ts'
import type { Command, Json, SingleCommand } from '../../engine/plugin.ts'
import { accountSubcommands } from '../credentials/commands.ts'
import { findAccount } from '../credentials/find.ts'
import { periodOf } from './input.ts'
import { moneySubcommands } from './money.ts'
import { isoTime } from './response.ts'
import { showSubcommand } from './show.ts'
import { byOf, usagePage } from './usage.ts'

const PAGE = 1_000

const runUsage: SingleCommand['run'] = async ({ positionals, values }, { database }) => {
  const [nameOrId = ''] = positionals
  const by = byOf(textOf(values.by), 'day')
  const range = { from: textOf(values.from), to: textOf(values.to) }
  const { from, to } = periodOf(range, await database.now())
  const { id, name } = await findAccount(database, nameOrId)
  const rows: { readonly [name: string]: Json }[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { account: id, by, from, to, limit: PAGE, ...(cursor && { cursor }) }
    const page = await usagePage(database, query)
    rows.push(...page.rows)
    cursor = page.next
  }
  return {
    rows: rows.map(asText),
    json: { account: name, from: isoTime(from), to: isoTime(to), rows },
  }
}
/** Prints exact numbers with all digits. */
const asText = (row: { readonly [name: string]: Json }): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )

export const commands: Readonly<Record<string, Command>> = {
  accounts: {
    summary: 'Manages accounts and their money.',
    subcommands: { ...accountSubcommands, show: showSubcommand, ...moneySubcommands },
  },
  usage: {
    arguments: 'NAME',
    summary: 'Shows the usage of an account, in units of the currency.',
    example: 'tollgate usage ann --from 2026-11-01 --by model',
    options: {
      from: {
        type: 'string',
        value: 'TIME',
        summary: 'start, a date or time; 30 days before the end by default',
      },
      to: { type: 'string', value: 'TIME', summary: 'end (exclusive); now by default' },
      by: { type: 'string', value: 'WORD', summary: 'day (default), model, key or call' },
    },
    run: runUsage,
  },
}
