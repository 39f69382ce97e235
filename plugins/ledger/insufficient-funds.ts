/** Builds the fault for a call that its account or key cannot pay: cost, balance and remedy. */
import type { Fault } from '../../engine/plugin.ts'
import { roundMoney } from '../billing/money.ts'
import { fault } from './faults.ts'
import type { Ledger, Payer, Shortage } from './ledger.ts'

export interface RefusalTerms {
  readonly ledger: Pick<Ledger, 'available'>
  /** The name of the configured currency. */
  readonly currency: string
  /** The parameter of a request that bounds its output, if there is one. */
  readonly limitField: string | undefined
}
/** `cost`: nanos, the most that the call may cost. */
export type InsufficientFunds = (shortage: Shortage, payer: Payer, cost: bigint) => Promise<Fault>

const MESSAGES = {
  // Not "you have": other workers may have reserved a part of the balance for their calls.
  account: { code: 'INSUFFICIENT', whose: 'of your balance', remedy: 'add credit' },
  key: { code: 'KEY_EXHAUSTED', whose: 'of this API key', remedy: 'raise the quota of the key' },
} as const

export const insufficientFunds =
  ({ ledger, currency, limitField }: RefusalTerms): InsufficientFunds =>
  async (shortage, { account, ...key }, cost) => {
    const { code, whose, remedy } = MESSAGES[shortage]
    const payer = { account, ...(shortage === 'key' ? key : { key: undefined, quota: undefined }) }
    const room = await ledger.available(payer).catch(() => undefined)
    const most = `${roundMoney(cost, 'up')} ${currency}`
    // Another call has released its hold since, or the store does not answer.
    if (room === undefined || room >= cost)
      return fault(code, [
        most,
        'and other calls hold the rest of the balance. Retry when they have ended',
      ])
    const has = `${roundMoney(room > 0n ? room : 0n, 'down')} ${currency} ${whose} is available now`
    const advice = limitField === undefined ? remedy : `lower ${limitField} or ${remedy}`
    return fault(code, [most, `${has}. ${advice.replace(/^./, first => first.toUpperCase())}`])
  }
