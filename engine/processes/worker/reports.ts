/** What a worker reports besides its log: the request log, and gauges of its upstreams. */
import type { ProcessLog } from '../../observe/log.ts'
import type { Metrics } from '../../plugin.ts'
import { RequestKeeper } from '../../request-log/keeper.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import { UpstreamGauges } from './upstream-gauges.ts'

export const createReports = (log: ProcessLog, metrics: Metrics) => {
  const keeper = new RequestKeeper(log, metrics)
  const gauges = new UpstreamGauges(metrics)
  return {
    /** After each version that goes live. */
    apply: ({ settings }: Snapshot): void => keeper.apply(settings),
    /** Before each report of metrics. */
    measure: ({ upstreams }: Snapshot): void => gauges.report(upstreams),
    close: (): Promise<void> => keeper.close(),
  }
}
