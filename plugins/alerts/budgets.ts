/** Messages about shares of budgets that are used: one for each share and window. */
import { isCode } from '../../engine/kit.ts'
import type { HostBase, Row } from '../../engine/plugin.ts'
import { ACCOUNT_BY_ID } from '../credentials/statements.ts'
import { markSent, UNSENT } from '../ledger/budgets/alert-tables.ts'
import { isKindOf, tagIn } from '../ledger/budgets/owner.ts'
import { budgetsIn } from '../ledger/budgets/section.ts'
import { printIn } from '../ledger/budgets/tokens.ts'
import { nanosOf } from '../ledger/statements.ts'
import { countsTokens } from '../ledger/wallet.ts'
import { ATTEMPTS } from '../webhooks/schedule.ts'
import { receiverId } from './queue.ts'
import { sendTime } from './quiet.ts'
import type { Section } from './section.ts'
import { addMessage } from './statements.ts'

const RULE = 'budget'
/** ms. Shares that were reached earlier are not sent: no receiver existed at that time. */
const MAX_AGE = 86_400_000
const PAGE = 100

/** Adds the messages of shares that were reached. A share is marked in the transaction that adds
 *  its messages, so that a crash neither loses nor repeats one. */
export const sendBudgetAlerts = async (
  { database, log, metrics, section }: Pick<HostBase, 'database' | 'log' | 'metrics' | 'section'>,
  { quiet, to }: Pick<Section, 'quiet' | 'to'>,
): Promise<void> => {
  const now = await database.now()
  const configured = budgetsIn({ section })
  const due = quiet?.except.includes(RULE) ? now : sendTime(quiet, now)
  for (const row of await database.read(UNSENT, [now - MAX_AGE, PAGE])) {
    const { stored, budget, kind } = row
    if (
      stored === 0 &&
      !configured.some(({ name, of }) => name === budget && isKindOf(of, String(kind)))
    ) {
      // It was removed: a message would name a budget that does not exist.
      await database.write([markSent(row, now)]).catch(ignoreSent)
      continue
    }
    const object = `${row.budget} of ${await ownerOf(database, row)}`
    const text = `The budget ${object} has used ${row.share}%: ${amountsOf(row)}.`
    const message = {
      kind: 'firing',
      rule: RULE,
      object,
      text,
      attempts: ATTEMPTS,
      due,
      now,
    } as const
    const messages = to.map(receiver => addMessage({ ...message, receiver: receiverId(receiver) }))
    const rows = await database.write([markSent(row, now), ...messages]).catch(ignoreSent)
    if (!rows) continue
    metrics.count('alerts_total', { rule: RULE, state: 'firing' })
    log.warn({ rule: RULE, object }, `alert firing: ${text}`)
  }
}
const ignoreSent = (error: unknown): undefined => {
  if (!isCode(error, 'BUDGET_ALERT_SENT')) throw error
}
const ownerOf = async (
  database: Pick<HostBase['database'], 'read'>,
  { kind, owner }: Row,
): Promise<string> => {
  const tag = tagIn(String(kind))
  if (tag !== undefined) return `tag ${tag}`
  const [account] = kind === 'account' ? await database.read(ACCOUNT_BY_ID, [owner ?? null]) : []
  return `${kind} ${account?.name ?? owner}`
}
const amountsOf = ({ wallet, used, balance }: Row): string => {
  const isInTokens = countsTokens(Number(wallet))
  const unit = isInTokens ? 'tokens' : 'money'
  const amount = printIn(unit, nanosOf(used) + nanosOf(balance))
  return `${printIn(unit, nanosOf(used))} of ${amount}${isInTokens ? ' tokens' : ''}`
}
