/** Endpoints of operators for the money of accounts: credit, debit, refund, overdraft. */
import type { HostBase } from '../../../engine/plugin.ts'
import { printMoney } from '../../billing/money.ts'
import { addMoney, changeOverdraft, refundCall, takeMoney } from '../../operator/money.ts'
import { object, text } from '../../shapes.ts'
import { fault } from '../faults.ts'
import { ACCOUNT, ACCOUNT_NAME, findAccountView, MONEY } from './accounts.ts'
import {
  type AdminCall,
  type AdminEndpoints,
  type AdminResult,
  amountIn,
  bodyOf,
} from './endpoint.ts'

const AMOUNT = { type: ['string', 'number'], maxLength: 24 } as const
const NOTE = { type: 'string', maxLength: 120, description: 'The reason, for the ledger.' }

const noteOf = ({ body, actor }: AdminCall): string =>
  `${String(body.note ?? '')} (by ${actor})`.trim()
const accountOf = async ({ body }: AdminCall, host: HostBase) => {
  const view = await findAccountView(host, body.account)
  return { view, account: { id: Number(view.id), name: String(view.name) } }
}

/** Adds money to an account, or takes it. */
const change =
  (write: typeof addMoney) =>
  async (call: AdminCall, host: HostBase): Promise<AdminResult> => {
    const { view: before, account } = await accountOf(call, host)
    const amount = amountIn(call)
    if (amount <= 0n) throw fault('ADMIN_AMOUNT')
    await write(host.database, { account, amount, note: noteOf(call) })
    const after = await findAccountView(host, account.id)
    return { data: after, change: { before, after } }
  }

const overdraft = async (call: AdminCall, host: HostBase): Promise<AdminResult> => {
  const { view: before, account } = await accountOf(call, host)
  await changeOverdraft(host.database, account, amountIn(call))
  const after = await findAccountView(host, account.id)
  return { data: after, change: { before, after } }
}

const refund = async (call: AdminCall, host: HostBase): Promise<AdminResult> => {
  const request = String(call.body.request)
  const { account, amount } = await refundCall(host.database, request, noteOf(call))
  const after = { request, account: account.name, refunded: printMoney(amount) }
  return { data: after, change: { before: { request, refunded: '0' }, after } }
}

const CHANGE = bodyOf(
  {
    account: ACCOUNT_NAME,
    amount: { ...AMOUNT, description: 'Units of the currency, above 0.' },
    note: NOTE,
  },
  ['account', 'amount'],
)

export const moneyEndpoints: AdminEndpoints = {
  'POST accounts/credit': {
    summary: 'Adds money to an account.',
    body: CHANGE,
    data: ACCOUNT,
    run: change(addMoney),
  },
  'POST accounts/debit': {
    summary: 'Takes money from an account.',
    body: CHANGE,
    data: ACCOUNT,
    run: change(takeMoney),
  },
  'POST accounts/overdraft': {
    summary: 'Sets how far below zero an account may go.',
    body: bodyOf(
      { account: ACCOUNT_NAME, amount: { ...AMOUNT, description: 'Units of the currency.' } },
      ['account', 'amount'],
    ),
    data: ACCOUNT,
    run: overdraft,
  },
  'POST charges/refund': {
    summary: 'Refunds the charge of a call, once.',
    body: bodyOf({ request: { type: 'string', maxLength: 128 }, note: NOTE }, ['request']),
    data: object({ request: text, account: text, refunded: MONEY }),
    run: refund,
  },
}
