/** Operations on credits: payments that are credited by their reference, and the list of them. */
import { textOf } from '../../../engine/cli/kit.ts'
import { integer, object, required, text } from '../../../engine/config/shape.ts'
import type { HostBase } from '../../../engine/plugin.ts'
import { printMoney } from '../../billing/money.ts'
import { findAccount } from '../../credentials/find.ts'
import { expiryOf, noteOf } from '../../credentials/input.ts'
import { CREDITS_OF } from '../../ledger/statements.ts'
import { CREDIT_COLUMNS, PAYMENT } from '../../rows/money.ts'
import { list as listOf, object as row } from '../../shapes.ts'
import type { PaymentRow } from '../../views.ts'
import { accountRowById } from '../accounts.ts'
import { ACCOUNT, amount, LIMIT, NOTE, noteBy } from '../arguments.ts'
import { fault } from '../faults.ts'
import { type Operation, operation, runOperation } from '../operation.ts'
import { isoTime, rowReader, singleRow } from '../rows.ts'
import { PAID_PLAN } from './plans/grants.ts'
import { payOnce } from './plans/pay-once.ts'

const REFERENCE = required(
  text('What the payer calls the payment; a payment is credited once.', {
    minLength: 1,
    maxLength: 200,
    pattern: '^[\\x21-\\x7e]+$',
  }),
)
const pay = operation({
  name: 'credits create',
  summary:
    'Credits a payment once, however often it is reported, or gives the plan that it pays for.',
  scope: 'operator',
  arguments: object(undefined, {
    account: ACCOUNT,
    amount: amount('Units of the currency, above 0.'),
    reference: REFERENCE,
    ...PAID_PLAN,
    note: NOTE,
  }),
  result: PAYMENT,
  command: {
    arguments: 'NAME AMOUNT REFERENCE',
    example: 'tollgate credits create ann 12.50 invoice-17',
    options: {
      note: { type: 'string', value: 'TEXT', summary: 'reason, for the ledger' },
      plan: { type: 'string', value: 'PLAN', summary: 'the plan that the payment pays for' },
      expires: {
        type: 'string',
        value: 'TIME',
        summary: 'end of the plan: 30d, or a date; by default that of its window',
      },
    },
    async read({ positionals: [account = '', units = '', reference = ''], values, host }) {
      const plan = textOf(values.plan)
      const expires = expiryOf(textOf(values.expires), await host.database.now())
      return {
        account,
        amount: units,
        reference,
        note: noteOf(values.note),
        ...(plan !== undefined && { plan }),
        ...(expires !== undefined && { expires: isoTime(expires) }),
      }
    },
    print: data =>
      singleRow({ ...data, plan: data.plan ?? '', repeated: data.repeated ? 'yes' : 'no' }),
  },
  async run(context, { account: nameOrId, amount: nanos, reference, note, plan, expires }) {
    if (nanos <= 0n) throw fault('ADMIN_AMOUNT')
    const { store } = context
    const account = await findAccount(store, nameOrId)
    const payment = {
      account: account.id,
      amount: nanos,
      reference,
      note: noteBy(context, note || reference),
    }
    const credit = { account: account.id, amount: nanos, note: reference }
    const order = plan === undefined ? undefined : { ...credit, plan, until: expires ?? undefined }
    const result = await payOnce(context, payment, order)
    const { balance } = await accountRowById(store, account.id)
    const paid = { account: account.name, reference, amount: printMoney(nanos) }
    return { data: { ...paid, ...result, balance } satisfies PaymentRow }
  },
})

const USUAL = 100
const list = operation({
  name: 'credits list',
  summary: 'Lists credits, debits and refunds of an account, latest first.',
  scope: 'both',
  reads: true,
  arguments: object(undefined, {
    account: ACCOUNT,
    limit: LIMIT,
    cursor: integer('`next` of the page before.', { minimum: 0 }),
  }),
  result: listOf(row(CREDIT_COLUMNS)),
  command: {
    arguments: 'NAME',
    example: 'tollgate credits list ann',
  },
  own: [{ view: 'list-credits', access: 'team' }],
  async run({ store, own }, { account, limit = USUAL, cursor = Number.MAX_SAFE_INTEGER }) {
    const id = own ?? (await findAccount(store, account, { isDeletedToo: true })).id
    const rows = await store.read(CREDITS_OF, [id, cursor, limit])
    const last = rows.length === limit ? rows.at(-1) : undefined
    return { data: rows.map(creditRow), next: last ? String(last.id) : null }
  },
})
const creditRow = rowReader(CREDIT_COLUMNS)

export const creditOperations: readonly Operation[] = [pay, list]

/** For plugins that receive payments: credits each reference once. `amount`: units of the currency
 *  as a decimal text; `account`: its name or number; `plan`: what it pays for, until `expires`, ISO
 *  8601, or the end of its window. The answer has the plan that this report gave; null: the money
 *  is credit, or the payment was reported before. Throws ACCOUNT_UNKNOWN, or PAYMENT_DIFFERS for
 *  a reference that was credited with another account or amount. */
export const creditOnce = async (
  host: HostBase,
  payment: {
    readonly account: string
    readonly amount: string
    readonly reference: string
    readonly note: string
    readonly plan?: string
    readonly expires?: string
  },
): Promise<PaymentRow> => {
  const actor = { via: 'admin API', name: 'plugin' } as const
  return (await runOperation(pay, payment, { host, actor })).data as PaymentRow
}
