/** View: the handler of a route that reads or changes stored responses or conversations. */
import type { Database, Exchange } from '../../engine/plugin.ts'
import { ACCOUNT } from '../slots.ts'
import type { StorageLimits } from './storage-options.ts'

/** The store and the limits that views use. */
interface ViewContext {
  readonly database: Database
  readonly limits: StorageLimits
}
export type View = (exchange: Exchange, context: ViewContext) => Promise<void>

export const ownerOf = ({ slots }: Exchange): number | undefined => slots.get(ACCOUNT)?.id
export const idOf = ({ params }: Exchange): string => params.id ?? ''
