/** Sign-ins of operators in the log of actions: those that succeed, and those that are refused. */
import type { Exchange, Host, Row, Statement } from '../../engine/plugin.ts'
import { recordAction } from '../action-log/record.ts'
import { recordRefusal } from '../action-log/refusals.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { originOf } from '../operator/operation.ts'
import { ACCOUNT } from '../slots.ts'

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

/** Ends the session, with its row in the log if it is an operator's. */
export const writeSignOut = async (
  host: Host,
  exchange: Exchange,
  list: readonly Statement[],
): Promise<void> => {
  const account = exchange.slots.need(ACCOUNT)
  if (account.role !== 'admin') await writeWithRetry(host.database, list)
  else {
    const actor = { via: 'sign-in', name: account.name, ...originOf(exchange, account) } as const
    const object = `session ${account.session}`
    await recordAction(host, list, {
      operation: 'sign-out',
      object,
      before: null,
      after: null,
      actor,
    })
  }
}

/** Records it if the credential is an operator's, or unknown. Never rejects. */
export const recordRefusedSignIn = async (
  host: Host,
  exchange: Exchange,
  row: Row | undefined,
  reason: string,
): Promise<void> => {
  if (row && row.role !== 'admin') return
  const { operation, object, actor } = actionOf(exchange, 'sign-in refused', row, {})
  await recordRefusal(host, { operation, object, actor, reason, isKnown: row !== undefined })
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
