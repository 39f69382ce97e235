/** The work on the log of actions beside the requests: versions of the configuration, published
 *  heads, and rows that are old. */
import { isCode } from '../../engine/kit.ts'
import type { HostBase } from '../../engine/plugin.ts'
import { proofOf } from './action.ts'
import { newPublished, publishHead } from './heads.ts'
import { signingKey } from './keys.ts'
import { recordAction } from './record.ts'
import { sectionOf } from './section.ts'
import { deleteActions, LAST_BEFORE } from './statements.ts'
import { GATEWAY, recordVersions } from './versions.ts'

/** ms between two runs. */
const [VERSIONS, HEADS, AGE] = [2_000, 5_000, 3_600_000]

/** Every route calls it; the engine runs one job of a name. A trial has none. */
export const startActionJobs = (host: HostBase): void => {
  if (host.config.isTrial) return
  const recorded = host.share('action-log/versions', '1', () => ({ version: 0 }))
  host.job(
    'actions: versions',
    VERSIONS,
    async () => {
      const { version } = host.config
      if (recorded.version === version) return
      try {
        await recordVersions(host)
        recorded.version = version
      } catch (error) {
        // A worker begins before the first version is live: the next run records it.
        if (!isCode(error, 'NO_GATEWAY')) throw error
      }
    },
    { each: true },
  )
  const published = host.share('action-log/published', '1', newPublished)
  host.job('actions: heads', HEADS, () => publishHead(host, published))
  host.job('actions: age', AGE, () => deleteOld(host))
}

/** Deletes rows that are older than `keep`, all but the last. Verification goes on from a signed
 *  note of the last one that was deleted. */
export const deleteOld = async (host: HostBase): Promise<void> => {
  const { keep } = sectionOf(host)
  if (keep === undefined) return
  const { database } = host
  const [row] = await database.read(LAST_BEFORE, [(await database.now()) - keep])
  if (!row) return
  const last = { seq: Number(row.seq), mac: String(row.mac) }
  const key = signingKey(host)
  await recordAction(host, deleteActions(last, key.id, proofOf(last, key)), {
    operation: 'actions expire',
    object: `actions up to ${last.seq}`,
    before: null,
    after: { deleted: last.seq, mac: last.mac },
    actor: GATEWAY,
  }).catch(error => {
    if (!isCode(error, 'ACTION_DELETED')) throw error
  })
}
