/** Waits for the end of a test delivery. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Database, Row, Sql } from '../../engine/plugin.ts'

/** ms between two reads. */
const INTERVAL = 100

/** The row of a delivery once it has ended, or after `timeout` ms: it still waits if the job that
 *  sends is busy, or no gateway runs. `find`: reads it by its id. */
export const awaitDelivery = async (
  store: Pick<Database, 'read'>,
  find: Sql,
  id: string,
  timeout: number,
): Promise<Row> => {
  const deadline = performance.now() + timeout
  for (;;) {
    const [row] = await store.read(find, [id])
    if (row && (row.state !== 'pending' || performance.now() >= deadline)) return row
    await pause(INTERVAL)
  }
}
