/** Reports ejected addresses and resting keys to the log and the metrics of the process. */
import type { Log, Metrics } from '../plugin.ts'

export interface UpstreamEvents {
  onEject(address: string, ms: number): void
  onReadmit(address: string): void
  onKeyRest(upstream: string, key: string, rest: KeyRest): void
  onKeyReturn(upstream: string, key: string): void
}
/** `refused`: for every target; `limited`: for `target`. */
export interface KeyRest {
  readonly reason: 'refused' | 'limited'
  readonly ms: number
  readonly target?: string
}

export const createUpstreamEvents = (
  log: Log,
  metrics: Pick<Metrics, 'count'>,
): UpstreamEvents => ({
  onEject(address, ms) {
    metrics.count('ejections_total', { address })
    log.warn({ address, ms }, 'address ejected: it failed several times in a row')
  },
  onReadmit: address => log.info({ address }, 'address answers again'),
  onKeyRest(upstream, key, rest) {
    metrics.count('key_rests_total', { upstream, key, reason: rest.reason })
    const level = rest.reason === 'refused' ? 'error' : 'info'
    log[level]({ upstream, key, ...rest }, `key rests: the upstream ${rest.reason} it`)
  },
  onKeyReturn: (upstream, key) => log.info({ upstream, key }, 'key is accepted again'),
})
