/** The ledger of this process, and its jobs, which one process of the installation runs. */
import type { Host } from '../../engine/plugin.ts'
import { reportAudit, slowReads } from './audit.ts'
import { settleCheckpoints } from './crash/crash-settlement.ts'
import { Ledger } from './ledger.ts'
import { renewQuotas } from './views/key-quotas.ts'
import { keepTops } from './views/top-usage.ts'

/** ms between two audits. */
const AUDIT_INTERVAL = 3_600_000
/** ms between two searches for streams whose process crashed. */
const SETTLEMENT_INTERVAL = 5_000
/** ms between two searches for quotas whose period has ended. */
const RENEWAL_INTERVAL = 5_000
/** ms between two lists of the largest sums. */
const TOPS_INTERVAL = 300_000

export const sharedLedger = (host: Host): Ledger => {
  const { database, log, membership } = host
  host.job('ledger notes', SETTLEMENT_INTERVAL, () => settleCheckpoints(database, log, Date.now()))
  host.job('key quotas', RENEWAL_INTERVAL, signal => renewQuotas(host, Date.now(), signal))
  host.job('ledger audit', AUDIT_INTERVAL, signal => reportAudit(host, signal))
  host.job('usage tops', TOPS_INTERVAL, signal =>
    keepTops(database, slowReads(database, signal), Date.now()),
  )
  return host.share('ledger', '1', () => new Ledger(database, log, membership))
}
