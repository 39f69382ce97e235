/** View: the handler of a route that reads or changes stored responses or conversations. */
import type { Database, Exchange } from '../../engine/plugin.ts'
import { type Owner, ownerOf } from '../credentials/members.ts'
import { ACCOUNT, type Account, bareId } from '../slots.ts'
import type { StorageLimits } from './storage-options.ts'

/** The store and the limits that views use. */
interface ViewContext {
  readonly database: Database
  readonly limits: StorageLimits
}
export type View = (exchange: Exchange, context: ViewContext) => Promise<void>

/** Without an account a request sees nothing. */
export const callerOf = ({ slots }: Exchange): Account | undefined => slots.get(ACCOUNT)
/** Of what the request stores. */
export const ownerIn = (exchange: Exchange): Owner | undefined => {
  const account = callerOf(exchange)
  return account && ownerOf(account)
}
export const accountOf = (exchange: Exchange): number => Number(callerOf(exchange)?.id)
export const idOf = ({ params }: Exchange): string => params.id ?? ''
/** For the ids and times of what the request stores. `created`: ms since 1970. */
export const stampOf = (exchange: Exchange) => ({ created: Date.now(), name: bareId(exchange) })
