/** Other ids of calls: a durable task has an id of its own, by which its receipt is found, too. */
import type { Host } from '../../../engine/plugin.ts'

/** The request id of a call of this account. */
type Resolve = (id: string, account: number) => Promise<string | undefined>

export class CallIds {
  readonly #resolvers = new Map<string, Resolve>()

  /** A later resolver of the same name replaces the first. */
  add(name: string, resolve: Resolve): void {
    this.#resolvers.set(name, resolve)
  }
  async find(id: string, account: number): Promise<string | undefined> {
    for (const resolve of this.#resolvers.values()) {
      const request = await resolve(id, account)
      if (request !== undefined) return request
    }
    return undefined
  }
}
export const callIds = ({ share }: Pick<Host, 'share'>): CallIds =>
  share('ledger/call-ids', '1', () => new CallIds())
