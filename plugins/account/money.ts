/** The commands `tollgate accounts credit | debit | refund | overdraft | suspend | resume`. */
import { UsageError } from '../../engine/cli/kit.ts'
import type { SingleCommand } from '../../engine/plugin.ts'
import { parseMoney, printMoney } from '../billing/money.ts'
import { findAccount } from '../credentials/find.ts'
import { noteOf } from '../credentials/input.ts'
import { suspendAccount } from '../credentials/statements.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { addMoney, changeOverdraft, fundsOf, refundCall, takeMoney } from '../operator/money.ts'

const NOTE = { type: 'string', value: 'TEXT', summary: 'reason, for the ledger' } as const

export const moneySubcommands: Readonly<Record<string, SingleCommand>> = {
  credit: {
    arguments: 'NAME AMOUNT',
    summary: 'Adds money to an account.',
    example: 'tollgate accounts credit ann 12.50 --note invoice-17',
    options: { note: NOTE },
    async run({ positionals, values }, { database }) {
      const [nameOrId = '', amount = ''] = positionals
      const note = noteOf(values.note)
      const nanos = parseMoney(amount)
      if (nanos === 0n) throw new UsageError('AMOUNT must be above 0')
      const account = await findAccount(database, nameOrId)
      const credit = await addMoney(database, { account, amount: nanos, note })
      return singleRow({ credit, ...(await fundsOf(database, account)) })
    },
  },
  debit: {
    arguments: 'NAME AMOUNT',
    summary: 'Takes money from an account.',
    example: 'tollgate accounts debit ann 2 --note correction',
    options: { note: NOTE },
    async run({ positionals, values }, { database }) {
      const [nameOrId = '', amount = ''] = positionals
      const note = noteOf(values.note)
      const nanos = parseMoney(amount)
      if (nanos === 0n) throw new UsageError('AMOUNT must be above 0')
      const account = await findAccount(database, nameOrId)
      const debit = await takeMoney(database, { account, amount: nanos, note })
      return singleRow({ debit, ...(await fundsOf(database, account)) })
    },
  },
  refund: {
    arguments: 'REQUEST',
    summary: 'Refunds the charge of a call.',
    example: 'tollgate accounts refund req_0123',
    options: { note: NOTE },
    async run({ positionals, values }, { database }) {
      const [request = ''] = positionals
      const note = noteOf(values.note)
      const { account, amount } = await refundCall(database, request, note)
      return singleRow({ refunded: printMoney(amount), ...(await fundsOf(database, account)) })
    },
  },
  overdraft: {
    arguments: 'NAME AMOUNT',
    summary: 'Sets how far below zero an account may go.',
    example: 'tollgate accounts overdraft ann 10',
    async run({ positionals }, { database }) {
      const [nameOrId = '', amount = ''] = positionals
      const nanos = parseMoney(amount)
      const account = await findAccount(database, nameOrId)
      await changeOverdraft(database, account, nanos)
      return singleRow(await fundsOf(database, account))
    },
  },
  suspend: {
    arguments: 'NAME',
    summary: 'Refuses every call of an account until it is resumed.',
    example: 'tollgate accounts suspend ann',
    run: suspension(now => now),
  },
  resume: {
    arguments: 'NAME',
    summary: 'Resumes a suspended account.',
    example: 'tollgate accounts resume ann',
    run: suspension(() => null),
  },
}

function suspension(since: (now: number) => number | null): SingleCommand['run'] {
  return async ({ positionals }, { database }) => {
    const [nameOrId = ''] = positionals
    const account = await findAccount(database, nameOrId)
    const at = since(await database.now())
    await writeWithRetry(database, suspendAccount(account.id, at))
    return singleRow({ ...account, state: at === null ? 'active' : 'suspended' })
  }
}

const singleRow = (row: Readonly<Record<string, string | number>>) => ({ rows: [row], json: row })
