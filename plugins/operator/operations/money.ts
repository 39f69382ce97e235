/** Operations on the money of accounts: credit, debit, refund, overdraft. */
import { object, required, text } from '../../../engine/config/shape.ts'
import { printMoney } from '../../billing/money.ts'
import { findAccount } from '../../credentials/find.ts'
import { noteOf } from '../../credentials/input.ts'
import { ACCOUNT_COLUMNS } from '../../rows/accounts.ts'
import { MONEY } from '../../rows/money.ts'
import { integer, object as row, text as word } from '../../shapes.ts'
import type { AccountRow } from '../../views.ts'
import { accountRowById } from '../accounts.ts'
import { ACCOUNT, amount, NOTE, noteBy } from '../arguments.ts'
import { fault } from '../faults.ts'
import { addMoney, changeOverdraft, refundCall, takeMoney } from '../money.ts'
import { type Operation, operation } from '../operation.ts'
import { singleRow } from '../rows.ts'

const NOTE_OPTION = { type: 'string', value: 'TEXT', summary: 'reason, for the ledger' } as const

const fundsOf = ({ id, name, balance, used, overdraft }: AccountRow) => {
  return { id, name, balance, used, overdraft }
}
/** The account after the change, and the number of the change by its verb. */
type Moved = AccountRow & { readonly credit?: number; readonly debit?: number }
const move = (
  verb: 'credit' | 'debit',
  summary: string,
  example: string,
  write: typeof addMoney,
): Operation =>
  operation({
    name: `accounts ${verb}`,
    summary,
    scope: 'operator',
    arguments: object(undefined, {
      account: ACCOUNT,
      amount: amount('Units of the currency, above 0.'),
      note: NOTE,
    }),
    result: row({ ...ACCOUNT_COLUMNS, [verb]: integer }),
    command: {
      arguments: 'NAME AMOUNT',
      example,
      options: { note: NOTE_OPTION },
      read: ({ positionals: [account = '', units = ''], values }) => {
        return { account, amount: units, note: noteOf(values.note) }
      },
      print: (data: Moved) => singleRow({ [verb]: data[verb] ?? 0, ...fundsOf(data) }),
    },
    async run(context, { account: nameOrId, amount: nanos, note }) {
      if (nanos <= 0n) throw fault('ADMIN_AMOUNT')
      const account = await findAccount(context.store, nameOrId)
      const change = { account, amount: nanos, note: noteBy(context, note) }
      const id = await write(context.store, change)
      return { data: { ...(await accountRowById(context.store, account.id)), [verb]: id } }
    },
  })

const refund = operation({
  name: 'accounts refund',
  summary: 'Refunds the charge of a call.',
  scope: 'operator',
  earlier: 'POST charges/refund',
  arguments: object(undefined, {
    request: required(text('The id of the request.', { maxLength: 128 })),
    note: NOTE,
  }),
  result: row({ request: word, account: word, refunded: MONEY, ...ACCOUNT_COLUMNS }),
  command: {
    arguments: 'REQUEST',
    example: 'tollgate accounts refund req_0123',
    options: { note: NOTE_OPTION },
    read: ({ positionals: [request = ''], values }) => ({ request, note: noteOf(values.note) }),
    print: (data: AccountRow & { readonly refunded: string }) =>
      singleRow({ refunded: data.refunded, ...fundsOf(data) }),
  },
  async run(context, { request, note }) {
    const { store } = context
    const { account, amount: nanos } = await refundCall(store, request, noteBy(context, note))
    const after = await accountRowById(store, account.id)
    return { data: { request, account: account.name, refunded: printMoney(nanos), ...after } }
  },
})

const overdraft = operation({
  name: 'accounts overdraft',
  summary: 'Sets how far below zero an account may go.',
  scope: 'operator',
  arguments: object(undefined, { account: ACCOUNT, amount: amount('Units of the currency.') }),
  result: row(ACCOUNT_COLUMNS),
  command: {
    arguments: 'NAME AMOUNT',
    example: 'tollgate accounts overdraft ann 10',
    print: data => singleRow(fundsOf(data)),
  },
  async run({ store }, { account: nameOrId, amount: nanos }) {
    const account = await findAccount(store, nameOrId)
    await changeOverdraft(store, account, nanos)
    return { data: await accountRowById(store, account.id) }
  },
})

export const moneyOperations: readonly Operation[] = [
  move(
    'credit',
    'Adds money to an account.',
    'tollgate accounts credit ann 12.50 --note invoice-17',
    addMoney,
  ),
  move(
    'debit',
    'Takes money from an account.',
    'tollgate accounts debit ann 2 --note correction',
    takeMoney,
  ),
  refund,
  overdraft,
]
