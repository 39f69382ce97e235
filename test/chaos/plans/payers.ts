/** Plans of a chaos run: two that pay a part of the calls, in money and in tokens, and bought ones
 *  whose windows end while processes are killed. Each pays once for its next window, or ends. */
import type { OpenDatabase } from '../../../engine/store/database.ts'
import { createAccount } from '../../../plugins/credentials/statements.ts'
import { buyPlan } from '../../../plugins/ledger/plans/purchase.ts'
import { assignPlan } from '../../../plugins/ledger/plans/rows.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { sql, statement } from '../../helpers/store/store.ts'
import type { Violation } from '../checker.ts'

const UNIT = 10n ** 9n
const PRICE = 3n * UNIT
/** ms between the ends of two windows. */
const STEP = 600
export const PLANS = `plans:
  included: { amount: 20, per: hour, rollover: 100% }
  counted: { tokens: 12, per: hour, rollover: 50% }
  bought: { amount: 5, per: month, price: 3, rollover: 1 }
`
const BOUGHT = {
  name: 'bought',
  amount: 5n * UNIT,
  unit: 'money',
  per: 'month',
  zone: 'UTC',
  models: undefined,
  after: 'wallet',
  price: PRICE,
  renews: true,
  rollover: UNIT,
} as const

/** `count` accounts buy a plan whose window ends soon; every third one cannot pay for the next. */
export const arrangePlans = async (database: OpenDatabase, count: number): Promise<void> => {
  const now = Date.now()
  await database.write(
    assignPlan({ account: 1, plan: 'included', since: now - 7_200_000, until: undefined }),
  )
  const small = await database.read(
    sql('chaos: small payers', "SELECT id FROM accounts WHERE name LIKE 'small %'"),
    [],
  )
  for (const { id } of small)
    await database.write(
      assignPlan({ account: Number(id), plan: 'counted', since: now, until: undefined }),
    )
  for (let index = 0; index < count; index++) {
    const name = `buyer ${index}`
    const rows = await database.write(createAccount({ name, role: 'customer' }, now))
    const account = Number(rows.at(-1)?.[0]?.id)
    const amount = index % 3 === 0 ? PRICE + UNIT : 3n * PRICE
    await database.write([
      openWallet(account * 2, 0n),
      addCredit({ account, kind: 'credit', amount, note: 'chaos', at: now }),
      ...buyPlan({ plan: BOUGHT, price: PRICE, account, at: now }, -1),
      statement('chaos: end of a window', 'UPDATE account_plans SET until = ? WHERE account = ?', [
        now + 1_000 + index * STEP,
        account,
      ]),
    ])
  }
}

/** After all processes ended. `report`: how many plans renewed themselves or ended. */
export const planViolations = async (
  database: OpenDatabase,
  report: (line: string) => void,
): Promise<readonly Violation[]> => {
  const read = (text: string) => database.read(sql(`chaos: ${text}`, text), [])
  const buyers = await read(
    `SELECT p.account, p.unpaid, p.renews, count(b.credit) AS payments, sum(b.price) AS paid,
       w.balance, c.given
     FROM account_plans p
     JOIN plan_payments b ON b.account = p.account JOIN wallets w ON w.account = p.account
     JOIN (SELECT account, sum(amount) AS given FROM credits WHERE kind = 'credit'
       GROUP BY account) c ON c.account = p.account
     GROUP BY p.account, p.unpaid, p.renews, w.balance, c.given`,
  )
  const wrong = buyers.filter(each => {
    const canRenew = BigInt(String(each.given)) >= 2n * PRICE
    const payments = Number(each.payments)
    const isOnce = canRenew ? payments <= 2 && Number(each.unpaid) === 0 : payments === 1
    return !isOnce || Number(each.balance) !== Number(each.given) - Number(each.paid)
  })
  const renewed = buyers.filter(({ payments }) => Number(payments) === 2).length
  const ended = buyers.filter(({ unpaid }) => Number(unpaid) === 1).length
  report(`${buyers.length} bought plans: ${renewed} renewed, ${ended} ended unpaid`)
  const used = await read(
    `SELECT l.plan, sum(w.used) AS used, min(w.balance) AS least FROM plan_windows l
     JOIN wallets w ON w.id = l.wallet WHERE l.plan IN ('included', 'counted') AND w.used > 0 GROUP BY l.plan`,
  )
  report(used.map(({ plan, used }) => `plan ${plan}: ${used} used`).join(', '))
  const violation = (subject: string, detail: string) => ({ invariant: 'plans', subject, detail })
  return [
    ...wrong.map(each => violation(`account ${each.account}`, JSON.stringify(each))),
    ...(renewed === 0 || ended === 0
      ? [violation('renewal', 'no bought plan was renewed, or none ended')]
      : []),
    ...(used.length < 2 ? [violation('ledger', 'a plan paid no call')] : []),
    ...used
      .filter(({ least }) => Number(least) < 0)
      .map(({ plan }) => violation(`plan ${plan}`, 'a window has paid more than its amount')),
  ]
}
