/** A view of what is kept: it answers a request that names it. */
import type { Database, Exchange } from '../../engine/plugin.ts'
import { ACCOUNT } from '../slots.ts'
import type { Limits } from './keeping.ts'

/** What a view stands on. */
interface Ground {
  readonly database: Database
  readonly limits: Limits
}
export type View = (exchange: Exchange, ground: Ground) => Promise<void>

export const ownerOf = ({ slots }: Exchange): number | undefined => slots.get(ACCOUNT)?.id
export const idOf = ({ params }: Exchange): string => params.id ?? ''
