/** Probes the PostgreSQL store of a worker, so that readiness knows when it stopped answering. The
 *  primary watches the writer of an embedded store itself. */
import type { Database, Sql } from '../../plugin.ts'

const PROBE: Sql = { name: 'store probe', text: 'SELECT 1 AS one' }
/** ms between two probes. */
const INTERVAL = 1_000

export interface StoreProbe {
  /** ms since the store last answered; 0 while it answers. */
  readonly silence: number
  close(): void
}

export const probeStore = (database: Pick<Database, 'read'>): StoreProbe => {
  let failedSince: number | undefined
  let sentAt: number | undefined
  const probe = async (): Promise<void> => {
    if (sentAt !== undefined) return
    sentAt = performance.now()
    const start = sentAt
    try {
      await database.read(PROBE, [])
      failedSince = undefined
    } catch {
      failedSince ??= start
    }
    sentAt = undefined
  }
  const timer = setInterval(() => void probe(), INTERVAL).unref()
  return {
    get silence() {
      const since = failedSince ?? sentAt
      return since === undefined ? 0 : performance.now() - since
    },
    close: () => clearInterval(timer),
  }
}
