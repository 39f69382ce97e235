/** What plugins do for operators: each adds its part at its setup, and endpoints of operators use
 *  the parts, since no plugin imports another. One object per process. */
import type { HostBase, Json } from '../../engine/plugin.ts'
import type { TaskRow } from '../views.ts'

type Fields = { readonly [name: string]: Json }
export interface BatchFilter {
  /** A name or number. */
  readonly account?: string | undefined
  readonly state?: string | undefined
}
export interface OperatorParts {
  /** Absent where no route creates tasks. Rejects with the faults of `tollgate tasks`. */
  tasks?: {
    /** The latest ones, newest first. */
    list(host: HostBase, state: string | null): Promise<readonly Omit<TaskRow, 'account_name'>[]>
    show(host: HostBase, id: string): Promise<Fields>
    retry(host: HostBase, id: string): Promise<Fields>
    resolve(host: HostBase, id: string, isCharged: boolean): Promise<Fields>
  }
  /** Absent where no route creates batches. Rejects with the faults of `tollgate batches`. */
  batches?: {
    /** The latest ones, newest first. */
    list(host: HostBase, filter: BatchFilter): Promise<readonly Fields[]>
    show(host: HostBase, id: string): Promise<Fields>
    cancel(host: HostBase, id: string): Promise<Fields>
  }
  /** Asks an upstream for its models with each of its keys. */
  testUpstream?(host: HostBase, name: string): Promise<readonly Fields[]>
}

export const operatorParts = (host: Pick<HostBase, 'share'>): OperatorParts =>
  host.share<OperatorParts>('operator/parts', '1', () => ({}))
