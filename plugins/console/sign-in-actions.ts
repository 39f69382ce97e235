/** Sign-ins of operators in the log of actions: those that succeed, and those that are refused. */
import type { Exchange, Host, Row, Statement } from '../../engine/plugin.ts'
import { recordAction } from '../action-log/record.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'

/** Writes the session, with its row in the log if it is an operator's. */
export const writeSignIn = async (
  host: Host,
  exchange: Exchange,
  row: Row,
  list: readonly Statement[],
): Promise<void> => {
  if (row.role !== 'admin') await writeWithRetry(host.database, list)
  else await recordAction(host, list, actionOf(exchange, 'sign-in accepted', row, {}))
}

/** Refusals of unknown credentials that a process records in a minute: nobody can fill the log. */
const MOST = 30
const MINUTE = 60_000

/** Records it if the credential is an operator's, or unknown. Never rejects. */
export const recordRefusedSignIn = async (
  host: Host,
  exchange: Exchange,
  row: Row | undefined,
  reason: string,
): Promise<void> => {
  if (row && row.role !== 'admin') return
  const window = host.share('console/refused sign-ins', '1', () => ({
    end: 0,
    count: 0,
    omitted: 0,
  }))
  const now = performance.now()
  if (now >= window.end) Object.assign(window, { end: now + MINUTE, count: 0 })
  if (!row && ++window.count > MOST) return void window.omitted++
  const { omitted } = window
  window.omitted = 0
  const after = { reason, ...(omitted > 0 && { omitted }) }
  await recordAction(host, [], actionOf(exchange, 'sign-in refused', row, after)).catch(error =>
    host.log.warn({ error }, 'a refused sign-in could not be recorded'),
  )
}

const actionOf = (
  { id, request }: Exchange,
  operation: string,
  row: Row | undefined,
  after: { readonly [name: string]: string | number },
) => ({
  operation,
  object: row ? `account ${row.account}` : 'the console',
  before: null,
  after,
  actor: {
    via: 'sign-in' as const,
    name: row ? String(row.account_name) : 'unknown',
    ...(row && { account: Number(row.account) }),
    address: request.client.address,
    request: id,
  },
})
