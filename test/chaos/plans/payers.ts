/** Plans of a chaos run: three that pay a part of the calls, in money and in tokens, and bought
 *  ones whose windows end while processes are killed. Each pays once for its next window, or
 *  ends. */
import type { OpenDatabase } from '../../../engine/store/database.ts'
import { addMember, memberNamed } from '../../../plugins/credentials/members.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey, createAccount } from '../../../plugins/credentials/statements.ts'
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
  shared: { tokens: 600, per: life }
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
  currency: 'CNY',
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

const TEAM_CREDIT = 10n ** 15n
/** Makes teams whose plan in tokens many calls at once use up, and whose member has the key.
 *  Returns their keys. */
export const arrangeTeams = async (
  database: OpenDatabase,
  count: number,
): Promise<readonly string[]> => {
  const now = Date.now()
  const keys: string[] = []
  for (let index = 0; index < count; index++) {
    const rows = await database.write(
      createAccount({ name: `team ${index}`, role: 'customer' }, now),
    )
    const account = Number(rows.at(-1)?.[0]?.id)
    await database.write(addMember(account, { name: 'mia', role: 'member' }, now))
    const member = Number((await memberNamed(database, account, 'mia'))?.id)
    const secret = makeSecret('key')
    await database.write([
      ...addKey({ account, name: 'key', secret, member }, now),
      openWallet(account * 2, 0n),
      addCredit({ account, kind: 'credit', amount: TEAM_CREDIT, note: 'chaos', at: now }),
      ...assignPlan({ account, plan: 'shared', since: now, until: undefined }),
    ])
    keys.push(secret.text)
  }
  return keys
}

/** After all processes ended. `isLong`: calls have used up each plan. `report`: how many plans
 *  renewed themselves or ended. */
export const planViolations = async (
  database: OpenDatabase,
  isLong: boolean,
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
     JOIN wallets w ON w.id = l.wallet WHERE l.plan IN ('included', 'counted', 'shared') AND w.used > 0 GROUP BY l.plan`,
  )
  report(used.map(({ plan, used }) => `plan ${plan}: ${used} used`).join(', '))
  const violation = (subject: string, detail: string) => ({ invariant: 'plans', subject, detail })
  return [
    ...wrong.map(each => violation(`account ${each.account}`, JSON.stringify(each))),
    ...(renewed === 0 || ended === 0
      ? [violation('renewal', 'no bought plan was renewed, or none ended')]
      : []),
    ...(used.length < (isLong ? 3 : 2) ? [violation('ledger', 'a plan paid no call')] : []),
    ...(isLong && used.some(({ plan, least }) => plan === 'shared' && Number(least) !== 0)
      ? [violation('plan shared', 'no team has used it up')]
      : []),
    ...used
      .filter(({ least }) => Number(least) < 0)
      .map(({ plan }) => violation(`plan ${plan}`, 'a window has paid more than its amount')),
  ]
}
