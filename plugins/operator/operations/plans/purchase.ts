/** Operations on plans that accounts buy from their balance. */
import { setTimeout as pause } from 'node:timers/promises'
import { object } from '../../../../engine/config/shape.ts'
import { isCode } from '../../../../engine/kit.ts'
import type { Row } from '../../../../engine/plugin.ts'
import { printMoney } from '../../../billing/money.ts'
import { findAccount, type NamedAccount } from '../../../credentials/find.ts'
import {
  buyPlan,
  PAYMENT_ATTEMPTS,
  PAYMENT_PAUSE,
  setRenewal,
} from '../../../ledger/plans/purchase.ts'
import { changeOf, findPlan } from '../../../ledger/plans/rows.ts'
import { type Plan, plansIn } from '../../../ledger/plans/section.ts'
import { fundsOf } from '../../../ledger/views/wallets.ts'
import { BOUGHT_PLAN, OWN_PLANS } from '../../../rows/money.ts'
import type { BoughtPlan, OwnPlans, PlanView } from '../../../views.ts'
import { ACCOUNT, objectOf, PLAN } from '../../arguments.ts'
import { fault } from '../../faults.ts'
import { type Context, operation } from '../../operation.ts'
import { whenCode } from '../../rows.ts'
import { factsOf, find, isActive, offersIn, planNamed, print, viewOf } from './view.ts'

/** How often the row is read again after another change. */
const ATTEMPTS = 3

export const plansOwn = operation({
  name: 'plans show',
  summary: 'The plan of the account, and the plans that it can buy.',
  scope: 'own',
  reads: true,
  arguments: object(undefined, {}),
  result: OWN_PLANS,
  own: [{ view: 'plans' }],
  async run({ store, host, now, own = 0 }) {
    const [stored, account] = await Promise.all([
      findPlan(store, own),
      findAccount(store, String(own)),
    ])
    const plans = plansIn(host)
    const current = stored ? viewOf(plans, stored, account.name, now) : null
    return { data: { current, offers: offersIn(plans) } satisfies OwnPlans }
  },
})

export const buy = operation({
  name: 'plans buy',
  summary:
    'Buys a plan for an account from its balance, in place of the plan that it has; it begins now.',
  scope: 'both',
  arguments: object(undefined, { account: ACCOUNT, plan: PLAN }),
  result: BOUGHT_PLAN,
  command: {
    arguments: 'ACCOUNT PLAN',
    example: 'tollgate plans buy acme pro',
    print: ({ paid, ...plan }, currency) => {
      const { rows, json } = print(plan, currency)
      return { rows: rows.map(each => ({ ...each, paid })), json: { ...json, paid } }
    },
  },
  own: [{ view: 'buy-plan', summary: 'Buys a plan from the balance; it begins now.' }],
  async run(context, { account: nameOrId, plan: name }) {
    const { store, host, own } = context
    const plan = planNamed(host, name)
    const account = await findAccount(store, own === undefined ? nameOrId : String(own))
    const paid = await pay(context, account, plan)
    const bought: BoughtPlan = {
      ...(await find(context, account.id, account.name)),
      paid: printMoney(paid),
    }
    return { data: bought }
  },
})

/** Resolves to the nanos that were paid: none if the account has bought the plan already; then the
 *  plan renews itself again. Throws PLAN_NOT_SOLD, PLAN_UNAFFORDABLE or PLAN_CHANGED. */
const pay = async (context: Context, account: NamedAccount, plan: Plan): Promise<bigint> => {
  const { store, now } = context
  const { name, price, renews, currency } = plan
  if (price === undefined) throw fault('PLAN_NOT_SOLD', [name])
  let [payments, changes] = [PAYMENT_ATTEMPTS, ATTEMPTS]
  for (;;) {
    const stored = await findPlan(store, account.id)
    const change = changeOf(stored)
    const isBought = stored?.plan === name && stored.paid !== null && isActive(stored, now)
    const renewsAlready = Number(stored?.renews) === 1
    if (isBought && (renewsAlready || !renews || stored.until === null)) return 0n
    const [list, paid] = isBought
      ? [setRenewal(account.id, true, change), 0n]
      : [buyPlan({ plan, price, account: account.id, at: now }, change), price]
    try {
      await store.change(list, {
        object: objectOf(account),
        before: stored ? { plan: String(stored.plan) } : null,
        after: { plan: name, paid: printMoney(paid) },
      })
      return paid
    } catch (error) {
      if (isCode(error, 'PLAN_CHANGED') && --changes > 0) continue
      if (isCode(error, 'PLAN_CHANGED')) throw fault('PLAN_CHANGED')
      if (!isCode(error, 'OVERDRAWN')) throw error
    }
    // Calls, or leases of processes, may hold the money for a moment.
    const { available, total } = await fundsOf(store, account.id)
    if (total < price || --payments === 0)
      throw fault('PLAN_UNAFFORDABLE', [
        `${printMoney(price)} ${currency}`,
        `${printMoney(available)} ${currency}`,
      ])
    await pause(PAYMENT_PAUSE)
  }
}

/** A bought plan ends with the window that it has paid for. `stored`: its row as it was read.
 *  Throws PLAN_NO_RENEWAL or PLAN_CHANGED. */
export const endWithWindow = async (
  context: Context,
  account: NamedAccount,
  stored: Row,
): Promise<{ readonly data: PlanView }> => {
  const { plan, expires } = factsOf(stored)
  if (Number(stored.renews) !== 1) throw fault('PLAN_NO_RENEWAL', [plan, expires ?? 'never'])
  await context.store
    .change(setRenewal(account.id, false, Number(stored.change)), {
      object: objectOf(account),
      before: { plan, renews: true },
      after: { plan, renews: false },
    })
    .catch(whenCode('PLAN_CHANGED', () => fault('PLAN_CHANGED')))
  return { data: await find(context, account.id, account.name) }
}
