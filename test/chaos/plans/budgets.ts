/** Budgets of a chaos run, in money and in tokens: of accounts, keys, members and tags. Calls use
 *  them up while processes are killed: none passes its limit, and each share is alerted once. */
import type { OpenDatabase } from '../../../engine/store/database.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { sql } from '../../helpers/store/store.ts'
import type { Violation } from '../checker.ts'

/** Values of the tag `project`: each has budgets for some of the calls that name it. A client names
 *  one after another. */
export const PROJECTS = Array.from({ length: 1_000 }, (_, index) => `p${index}`)
const SHARES = [50, 80]
const ALERTS = `alert_at: [${SHARES.map(share => `${share}%`).join(', ')}]`
/** Those that calls reach, and never pass. */
const LIMITS = {
  tight: `{ of: { tag: project }, amount: 3, per: life, ${ALERTS} }`,
  narrow: `{ of: { tag: project }, tokens: 2_050, per: life, ${ALERTS} }`,
  purse: `{ of: member, amount: 2, per: life, ${ALERTS} }`,
  mate: `{ of: member, tokens: 1_400, per: life, ${ALERTS} }`,
} as const
const OTHERS = {
  hour: '{ of: account, amount: 1000000, per: hour, zone: Asia/Kolkata }',
  year: '{ of: account, amount: 100000000, per: year }',
  words: '{ of: account, tokens: 1_000_000_000, per: day, zone: Europe/Berlin }',
  seat: '{ of: key, amount: 1000000, per: life }',
  soft: '{ of: { tag: project }, amount: 1, per: life, at_limit: warn, alert_at: [100%] }',
} as const
const ALL = Object.entries({ ...OTHERS, ...LIMITS })
export const BUDGETS = `tags: { known: { project: [${PROJECTS.join(', ')}] } }
budgets:
${ALL.map(([name, terms]) => `  ${name}: ${terms}\n`).join('')}`

const LIMITED = Object.keys(LIMITS)
  .map(name => `'${name}'`)
  .join(', ')
const PASSED = `SELECT b.budget, b.kind, b.owner FROM budget_windows b JOIN wallets w ON w.id = b.wallet
  WHERE b.budget IN (${LIMITED}) AND w.balance < 0`
const UNNOTICED = `SELECT b.budget, b.kind, b.owner FROM budget_alerts a
  JOIN budget_windows b ON b.wallet = a.wallet JOIN wallets w ON w.id = a.wallet
  WHERE a.reached IS NULL AND w.used >= a.threshold`
const USED = `SELECT b.budget, count(*) AS windows FROM budget_windows b
  JOIN wallets w ON w.id = b.wallet WHERE w.used > 0 GROUP BY b.budget`
const MARKED = 'SELECT count(*) AS shares FROM budget_alerts WHERE sent IS NOT NULL'
const UNSENT =
  'SELECT count(*) AS shares FROM budget_alerts WHERE reached IS NOT NULL AND sent IS NULL'
const MESSAGES = "SELECT object, text FROM alert_messages WHERE rule = 'budget'"
const rowsOf = (database: OpenDatabase, text: string) =>
  database.read(sql(`chaos: ${text}`, text), [])

/** After all processes ended. `isLong`: calls have reached every limit. `report`: what calls have
 *  used, and how many shares were alerted. */
export const budgetViolations = async (
  database: OpenDatabase,
  isLong: boolean,
  report: (line: string) => void,
): Promise<readonly Violation[]> => {
  const violation = (subject: string, detail: string) => ({ invariant: 'budgets', subject, detail })
  const named = async (text: string, detail: string) =>
    (await rowsOf(database, text)).map(({ budget, kind, owner }) =>
      violation(`${budget} of ${kind} ${owner}`, detail),
    )
  const used = new Map(
    (await rowsOf(database, USED)).map(({ budget, windows }) => [String(budget), windows]),
  )
  const messages = await rowsOf(database, MESSAGES)
  const shares = messages.map(({ object, text }) => `${object} ${/\d+%/.exec(String(text))?.[0]}`)
  const [marked] = await rowsOf(database, MARKED)
  const alerted = new Set(shares.map(share => share.replace(/ of .* /, ' ')))
  report(
    `windows of budgets: ${[...used].map(([budget, windows]) => `${windows} ${budget}`).join(', ')}; ${shares.length} shares alerted`,
  )
  const expectedUse = isLong ? ALL.map(([name]) => name) : []
  const expectedShares = isLong
    ? Object.keys(LIMITS).flatMap(name => SHARES.map(share => `${name} ${share}%`))
    : []
  return [
    ...(used.size === 0 ? [violation('ledger', 'no window was charged')] : []),
    ...expectedUse
      .filter(name => !used.has(name))
      .map(name => violation(name, 'no window was charged')),
    ...expectedShares
      .filter(share => !alerted.has(share))
      .map(share => violation(share, 'no window has reached this share')),
    ...(await named(PASSED, 'it passed its limit')),
    ...(await named(UNNOTICED, 'a share was reached and not noticed')),
    ...(new Set(shares).size === shares.length && Number(marked?.shares) === shares.length
      ? []
      : [violation('alerts', `${shares.length} messages of ${marked?.shares} shares`)]),
  ]
}

/** While the gateway runs without load: each share that was reached is alerted. */
export const unsentShares = async (database: OpenDatabase): Promise<readonly Violation[]> => {
  let unsent = 0
  await eventually(async () => {
    unsent = Number((await rowsOf(database, UNSENT))[0]?.shares)
    return unsent === 0 || undefined
  }).catch(() => {})
  return unsent === 0
    ? []
    : [{ invariant: 'budgets', subject: 'alerts', detail: `${unsent} shares were not sent` }]
}
