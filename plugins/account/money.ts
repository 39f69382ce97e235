/** The commands `tollgate accounts credit | debit | refund | overdraft | suspend | resume`. */
import { setTimeout as pause } from 'node:timers/promises'
import { UsageError } from '../../engine/cli/kit.ts'
import type { Database, Row, SingleCommand, Value } from '../../engine/plugin.ts'
import { parseMoney, printMoney } from '../billing/money.ts'
import { fault } from '../credentials/faults.ts'
import { findAccount, type NamedAccount } from '../credentials/find.ts'
import { noteOf } from '../credentials/input.ts'
import { suspendAccount } from '../credentials/statements.ts'
import { addCredit, type Credit, nanosOf, openWallet, setOverdraft } from '../ledger/statements.ts'
import { CHARGE } from '../ledger/views/usage.ts'
import { creditAccount, readWallet } from '../ledger/views/wallets.ts'
import { walletOf } from '../ledger/wallet.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'

const ATTEMPTS = 6
/** ms. */
const PAUSE = 120
/** Retries a debit, since processes return unused leases to the balance within half a second. */
const debitWithRetry = async (database: Pick<Database, 'read' | 'write'>, debit: Credit) => {
  const list = [openWallet(walletOf.account(debit.account), 0n), addCredit(debit)]
  for (let retries = ATTEMPTS; ; retries--) {
    try {
      return await writeWithRetry(database, list)
    } catch (error) {
      const overdrawn = (error as { readonly code?: string }).code === 'OVERDRAWN'
      if (!overdrawn || retries === 0 || (await payableOf(database, debit.account)) < -debit.amount)
        throw error
      await pause(PAUSE)
    }
  }
}
/** Nanos that the account could pay if no call held any. */
const payableOf = async (database: Pick<Database, 'read'>, account: number): Promise<bigint> => {
  const row = await readWallet(database, account)
  return nanosOf(row?.balance) + nanosOf(row?.overdraft)
}

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
      const credit = { account: account.id, kind: 'credit', amount: nanos, note } as const
      const list = creditAccount({ ...credit, at: await database.now() })
      const rows = await writeWithRetry(database, list).catch(
        mapStoreError('CREDIT_TOO_LARGE', account.name),
      )
      const id = Number(rows.at(-1)?.[0]?.id)
      return singleRow({ credit: id, ...(await fundsRow(database, account)) })
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
      const debit = { account: account.id, kind: 'debit', amount: -nanos, note } as const
      const rows = await debitWithRetry(database, { ...debit, at: await database.now() }).catch(
        mapStoreError('OVERDRAWN', account.name, 'DEBIT_TOO_LARGE'),
      )
      return singleRow({
        debit: Number(rows.at(-1)?.[0]?.id),
        ...(await fundsRow(database, account)),
      })
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
      const [charge] = await database.read(CHARGE, [request])
      if (!charge) throw fault('CHARGE_UNKNOWN', [request])
      const amount = refundable(charge)
      const account = await accountOf(database, Number(charge.account))
      const credit = { account: account.id, kind: 'refund', amount, request, note } as const
      const list = creditAccount({ ...credit, at: await database.now() })
      await writeWithRetry(database, list)
        .catch(mapStoreError('ALREADY_REFUNDED', request))
        .catch(mapStoreError('CREDIT_TOO_LARGE', account.name))
      return singleRow({ refunded: printMoney(amount), ...(await fundsRow(database, account)) })
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
      const wallet = walletOf.account(account.id)
      const list = [openWallet(wallet, 0n), setOverdraft(wallet, nanos)]
      await writeWithRetry(database, list).catch(mapStoreError('OVERDRAWN', account.name))
      return singleRow(await fundsRow(database, account))
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

const refundable = ({ state, amount, request }: Row): bigint => {
  const nanos = nanosOf(amount)
  if (state !== 'settled' || nanos === 0n) throw fault('NOTHING_CHARGED', [request, state])
  return nanos
}

/** An account without a row gets its number as its name. */
const accountOf = (database: Pick<Database, 'read'>, id: number): Promise<NamedAccount> =>
  findAccount(database, String(id)).catch(error => {
    if (error.code !== 'ACCOUNT_UNKNOWN') throw error
    return { id, name: String(id) }
  })

/** Balance, usage and overdraft in units of the currency. */
export const fundsRow = async (database: Pick<Database, 'read'>, account: NamedAccount) => {
  const wallet = await readWallet(database, account.id)
  const print = (value: Value | undefined) => printMoney(nanosOf(value))
  const [balance, used] = [print(wallet?.balance), print(wallet?.used)]
  return { ...account, balance, used, overdraft: print(wallet?.overdraft) }
}
const singleRow = (row: Readonly<Record<string, string | number>>) => ({ rows: [row], json: row })

type Code = Parameters<typeof fault>[0]
/** Maps an error code of the store to a message for the operator. */
const mapStoreError =
  (code: Code, subject: string, faultCode = code) =>
  (error: { readonly code?: string }): never => {
    throw error.code === code ? fault(faultCode, [subject]) : error
  }
