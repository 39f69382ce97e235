/** The words plugins share: names and types of slots. Nothing else may stand here. */
import type { Slot } from '../engine/plugin.ts'

/** Who is calling. JSON, since it travels with a durable task. */
export interface Account {
  readonly id: number
  readonly name: string
  readonly role: 'customer' | 'admin'
  /** The API key that was presented; absent where a system token was. */
  readonly key?: AccountKey
  /** The number of the system token that was presented. */
  readonly token?: number
}
export interface AccountKey {
  readonly id: number
  readonly name: string
  /** Names of the models it may use; absent: all. */
  readonly models?: readonly string[]
  /** In place of the route's limits. */
  readonly limits?: { readonly requests?: string; readonly concurrency?: number }
  /** What it may spend, in quota; absent: as much as the account has. */
  readonly quota?: number
}
export const ACCOUNT: Slot<Account> = { name: 'account', keep: true }
