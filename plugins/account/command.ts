/** `tollgate accounts` and `tollgate usage`: accounts and their money, for the operator. */
import { textOf, UsageError } from '../../engine/cli/kit.ts'
import type { Command, Json, Lent } from '../../engine/plugin.ts'
import { accountVerbs } from '../credentials/commands.ts'
import { findAccount } from '../credentials/find.ts'
import { type Args, runOne, runVerb, type Said } from '../credentials/output.ts'
import { instant } from './answer.ts'
import { periodOf } from './input.ts'
import { moneyVerbs } from './money.ts'
import { byOf, usagePage } from './usage.ts'

const PAGE = 1_000

const say = async ({ positionals, values }: Args, { database }: Lent): Promise<Said> => {
  const [wanted, ...more] = positionals
  if (wanted === undefined || more.length > 0) throw new UsageError('It is: tollgate usage NAME')
  const by = byOf(textOf(values.by), 'day')
  const given = { from: textOf(values.from), to: textOf(values.to) }
  const { from, to } = periodOf(given, await database.now())
  const { id, name } = await findAccount(database, wanted)
  const rows: { readonly [name: string]: Json }[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const asked = { account: id, by, from, to, limit: PAGE, ...(cursor && { cursor }) }
    const page = await usagePage(database, asked)
    rows.push(...page.rows)
    cursor = page.next
  }
  return {
    rows: rows.map(asText),
    json: { account: name, from: instant(from), to: instant(to), rows },
  }
}
/** An exact number prints its own digits. */
const asText = (row: { readonly [name: string]: Json }): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )

export const commands: Readonly<Record<string, Command>> = {
  accounts: {
    summary:
      'create | suspend | resume NAME, list, credit | debit | overdraft NAME AMOUNT, refund REQUEST: who may call, and who pays',
    example: 'tollgate accounts credit ann 12.50 --note invoice-17',
    options: {
      role: { type: 'string', summary: 'of a new account: customer (default) or admin' },
      note: { type: 'string', summary: 'of a credit, debit or refund: why' },
    },
    run: (args, host) => runVerb({ ...accountVerbs, ...moneyVerbs }, args, host),
  },
  usage: {
    summary: 'NAME: what an account has used, in units of the currency',
    example: 'tollgate usage ann --from 2026-11-01 --by model',
    options: {
      from: { type: 'string', summary: 'a date or time; thirty days before the end by default' },
      to: { type: 'string', summary: 'the first instant outside; now by default' },
      by: { type: 'string', summary: 'day (default), model, key or call' },
    },
    run: (args, host) => runOne(say, args, host),
  },
}
