/** The reports of a worker: its log, its metrics with gauges of its upstreams, the request log. */
import { createLog } from '../../observe/log.ts'
import { createMetrics } from '../../observe/metrics.ts'
import { RequestKeeper } from '../../request-log/keeper.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import { UpstreamGauges } from './upstream-gauges.ts'

/** `name`: of the process. */
export const createReports = (name: string) => {
  const log = createLog({ level: 'info', process: name })
  const metrics = createMetrics(name)
  const keeper = new RequestKeeper(log, metrics)
  const gauges = new UpstreamGauges(metrics)
  return {
    log,
    metrics,
    /** After each version that goes live. */
    apply: ({ settings }: Snapshot): void => keeper.apply(settings),
    /** Before each report of metrics. */
    measure: ({ upstreams }: Snapshot): void => gauges.report(upstreams),
    close: (): Promise<void> => keeper.close(),
  }
}
