/** The size of the cache and its purge for operators, and the command `tollgate cache`. */
import type { Command, HostBase } from '../../engine/plugin.ts'
import { modelsOf } from '../catalogue/configured.ts'
import { subcommandsOf } from '../operator/command-line.ts'
import { type CachePart, contribute } from '../operator/contributions.ts'
import { cacheOperations } from '../operator/operations/cache.ts'
import { purge, SIZE } from './tables.ts'

const PART: CachePart = {
  async show({ database }) {
    const [row] = await database.read(SIZE, [])
    return { answers: Number(row?.answers ?? 0), bytes: Number(row?.bytes ?? 0) }
  },
  async purge({ store }, account, model) {
    const change = {
      object: 'cache',
      before: null,
      after: { account: account ?? null, model: model ?? null },
    }
    const [rows = []] = await store.change(purge(account ?? null, model ?? null), change)
    return { removed: rows.length }
  },
}

/** Lets the operations of operators run. */
export const offerToOperators = (host: HostBase): void => {
  const isUsed = Object.values(modelsOf(host)).some(({ cache }) => cache !== undefined)
  contribute(host, 'cache', isUsed ? PART : undefined)
}

export const commands: Readonly<Record<string, Command>> = {
  cache: {
    summary: 'Shows the size of the cache, and removes answers from it.',
    subcommands: subcommandsOf(cacheOperations, offerToOperators),
  },
}
