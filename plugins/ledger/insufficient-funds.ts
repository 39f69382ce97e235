/** Builds the fault for a call that its account or key cannot pay: cost, balance and remedy. */
import type { Fault } from '../../engine/plugin.ts'
import { roundMoney } from '../billing/money.ts'
import { budgetExceeded } from './budgets/refusal.ts'
import { inUnitOf } from './budgets/tokens.ts'
import { fault } from './faults.ts'
import type { Ledger, Payer, Shortage } from './ledger.ts'
import { planExhausted } from './plans/refusal.ts'

export interface RefusalTerms {
  readonly ledger: Pick<Ledger, 'funds'> & Partial<Pick<Ledger, 'fundsOf'>>
  /** The name of the configured currency. */
  readonly currency: string
  /** The parameter of a request that bounds its output, if there is one. */
  readonly limitField: string | undefined
}
/** `cost`: nanos, the most that the call may cost; for a budget or a plan in tokens those of the
 *  payer count. */
export type InsufficientFunds = (shortage: Shortage, payer: Payer, cost: bigint) => Promise<Fault>

const MESSAGES = {
  // Not "you have": other workers may have reserved a part of the balance for their calls.
  account: { code: 'INSUFFICIENT', whose: 'of your balance', remedy: 'add credit' },
  key: { code: 'KEY_EXHAUSTED', whose: 'of this API key', remedy: 'raise the quota of the key' },
} as const

/** Other calls hold the money that this one lacks. Without the header it stays too little when
 *  they have ended. */
const MAY_PASS = { headers: { 'retry-after': '1' } }

export const insufficientFunds =
  ({ ledger, currency, limitField }: RefusalTerms): InsufficientFunds =>
  async (shortage, { account, plan, tokens, ...key }, cost) => {
    const fundsOf = (wallet: number) => ledger.fundsOf?.(wallet).catch(() => undefined)
    const refused = { cost, currency, now: Date.now() }
    if (typeof shortage === 'object') {
      const funds = await fundsOf(shortage.wallet)
      return budgetExceeded(shortage, { ...refused, cost: inUnitOf(shortage, cost, tokens), funds })
    }
    if (shortage === 'plan' && plan) {
      const funds = await fundsOf(plan.window.wallet)
      const most = inUnitOf(plan.window, cost, tokens)
      return planExhausted(plan.window, { ...refused, cost: most, funds })
    }
    const { code, whose, remedy } = MESSAGES[shortage === 'key' ? 'key' : 'account']
    const payer = { account, ...(shortage === 'key' ? key : { key: undefined, quota: undefined }) }
    const funds = await ledger.funds(payer).catch(() => undefined)
    const most = `${roundMoney(cost, 'up')} ${currency}`
    // Another call has released its hold since, or the store does not answer.
    if (funds === undefined || funds.available >= cost)
      return fault(
        code,
        [most, 'and other calls hold the rest of the balance. Retry when they have ended'],
        MAY_PASS,
      )
    const room = funds.available > 0n ? funds.available : 0n
    const has = `${roundMoney(room, 'down')} ${currency} ${whose} is available now`
    const advice = limitField === undefined ? remedy : `lower ${limitField} or ${remedy}`
    const traits = funds.total >= cost ? MAY_PASS : {}
    return fault(
      code,
      [most, `${has}. ${advice.replace(/^./, first => first.toUpperCase())}`],
      traits,
    )
  }
