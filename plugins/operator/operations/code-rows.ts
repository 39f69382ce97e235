/** Codes as operators see them, and their redemption by customers. */
import { isCode } from '../../../engine/kit.ts'
import type { Database } from '../../../engine/plugin.ts'
import { printMoney } from '../../billing/money.ts'
import { FailedAttempts, TOLERATED } from '../../credentials/failed-attempts.ts'
import {
  CODE_OF_ID,
  CODES,
  type Code,
  codeOf,
  digestOfCode,
  FIND_CODE,
  redeemCode,
} from '../../ledger/payments/codes.ts'
import { creditAccount } from '../../ledger/views/wallets.ts'
import type { CodeRow } from '../../views.ts'
import { fault } from '../faults.ts'
import type { Context } from '../operation.ts'
import { isoTime } from '../rows.ts'
import { planOfCode } from './plans/grants.ts'

const USUAL = 100
type Reader = Pick<Database, 'read'>

const stateOf = ({ account, revoked, expires }: Code, now: number): CodeRow['state'] => {
  if (account !== undefined) return 'redeemed'
  if (revoked !== undefined) return 'revoked'
  return expires !== undefined && expires <= now ? 'expired' : 'open'
}
export const codeRow = (code: Code, now: number): CodeRow => ({
  id: code.id,
  amount: printMoney(code.amount),
  plan: code.plan ?? null,
  lasts: code.lasts ?? null,
  state: stateOf(code, now),
  note: code.note,
  created: isoTime(code.created),
  expires: code.expires === undefined ? null : isoTime(code.expires),
  account: code.account ?? null,
  redeemed: code.redeemed === undefined ? null : isoTime(code.redeemed),
})

export const codesPage = async (
  database: Reader,
  now: number,
  { limit = USUAL, cursor = '' }: { readonly limit?: number; readonly cursor?: string },
) => {
  const rows = await database.read(CODES, [cursor, limit])
  return {
    data: rows.map(each => codeRow(codeOf(each), now)),
    next: rows.length === limit ? String(rows.at(-1)?.id) : null,
  }
}
/** Throws CODE_UNKNOWN. */
export const findCode = async (database: Reader, id: string): Promise<Code> => {
  const [code] = await database.read(CODE_OF_ID, [id])
  if (!code) throw fault('CODE_UNKNOWN')
  return codeOf(code)
}

/** Adds the amount of a code to the account of the caller, nanos, and gives it the plan. The same
 *  code again, by the same account, changes nothing: it is `repeated`. Throws CODE_UNKNOWN,
 *  CODE_SPENT, CODES_GUESSED, PLAN_OWNED, PLAN_UNKNOWN or PLAN_CHANGED. */
export const redeem = async (
  context: Context,
  text: string,
): Promise<Pick<Code, 'amount' | 'plan'> & { readonly repeated: boolean }> => {
  const { store, now, own = 0 } = context
  const code = await lookUp(context, text)
  const { amount, plan } = code
  if (code.account === own) return { amount, plan, repeated: true }
  if (stateOf(code, now) !== 'open') throw fault('CODE_SPENT')
  const credit = {
    account: own,
    kind: 'credit',
    amount,
    note: `code ${code.id}`,
    at: now,
  } as const
  try {
    const statements = [
      ...(amount > 0n ? creditAccount(credit) : []),
      ...(plan === undefined ? [] : await planOfCode(context, own, plan, code.lasts)),
    ]
    await store.change([redeemCode(code.id, own, now), ...statements], {
      object: `account ${own}`,
      before: null,
      after: {
        credited: printMoney(amount),
        code: code.id,
        ...(plan !== undefined && { plan }),
      },
    })
    return { amount, plan, repeated: false }
  } catch (error) {
    if (isCode(error, 'PLAN_CHANGED')) throw fault('PLAN_CHANGED')
    // Or it has just given the plan that the account has now.
    if (!isCode(error, 'CODE_SPENT', 'PLAN_OWNED')) throw error
    // Another request was faster: perhaps one of the same account.
    const { account } = await findCode(store, code.id)
    if (account === own) return { amount, plan, repeated: true }
    throw isCode(error, 'PLAN_OWNED') ? error : fault('CODE_SPENT')
  }
}

/** Limits guesses: an account may name thirty unknown codes a minute. */
const lookUp = async ({ host, store, own = 0 }: Context, text: string): Promise<Code> => {
  const all = host.share('operator/code guesses', '1', () => new FailedAttempts())
  const attempts = all.by(`account ${own}`)
  if (attempts.failures >= TOLERATED) {
    const seconds = all.secondsLeft(attempts)
    throw fault('CODES_GUESSED', [seconds], { headers: { 'retry-after': String(seconds) } })
  }
  // Counted before the lookup: many at once are as many guesses.
  attempts.failures++
  const digest = digestOfCode(text)
  const [row] = digest === undefined ? [] : await store.read(FIND_CODE, [digest])
  if (!row) throw fault('CODE_UNKNOWN')
  attempts.failures--
  return codeOf(row)
}
