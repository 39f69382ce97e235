/** Refusals of credentials in the log of actions. */
import type { Exchange, HostBase } from '../../engine/plugin.ts'
import type { Action, Actor } from './action.ts'
import { recordAction } from './record.ts'

/** Refusals of unknown credentials that a process records in a minute, so that unknown callers
 *  cannot fill the log. */
const MOST = 30
const MINUTE = 60_000

type Host = Pick<HostBase, 'database' | 'section' | 'folder' | 'share' | 'log'>
interface Refusal extends Pick<Action, 'operation' | 'object' | 'actor'> {
  readonly reason: string
  /** Whether the credential is one of the store. */
  readonly isKnown: boolean
}
/** Never rejects. */
export const recordRefusal = async (
  host: Host,
  { reason, isKnown, ...action }: Refusal,
): Promise<void> => {
  const window = host.share('action-log/refusals', '1', () => ({ end: 0, count: 0, omitted: 0 }))
  const now = performance.now()
  if (now >= window.end) Object.assign(window, { end: now + MINUTE, count: 0 })
  if (!isKnown && ++window.count > MOST) return void window.omitted++
  const { omitted } = window
  window.omitted = 0
  const after = { reason, ...(omitted > 0 && { omitted }) }
  await recordAction(host, [], { ...action, before: null, after }).catch(error =>
    host.log.warn({ error }, 'a refusal could not be recorded'),
  )
}
/** Who sent a request without a credential of the store. */
export const strangerOf = (
  { id, request }: Pick<Exchange, 'id' | 'request'>,
  via: Actor['via'],
): Actor => ({ via, name: 'unknown', address: request.client.address, request: id })
