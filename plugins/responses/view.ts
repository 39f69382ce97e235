/** View: the handler of a route that reads or changes stored responses or conversations. */
import type { Database, Exchange } from '../../engine/plugin.ts'
import { ACCOUNT, bareId } from '../slots.ts'
import type { StorageLimits } from './storage-options.ts'

/** The store and the limits that views use. */
interface ViewContext {
  readonly database: Database
  readonly limits: StorageLimits
}
export type View = (exchange: Exchange, context: ViewContext) => Promise<void>

export const ownerOf = ({ slots }: Exchange): number | undefined => slots.get(ACCOUNT)?.id
export const idOf = ({ params }: Exchange): string => params.id ?? ''
/** For the ids and times of what the request stores. `created`: ms since 1970. */
export const stampOf = (exchange: Exchange) => ({ created: Date.now(), name: bareId(exchange) })
