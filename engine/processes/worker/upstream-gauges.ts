/** Gauges of the addresses and keys of upstreams that a worker does not use at present. */
import type { Metrics } from '../../plugin.ts'
import type { Upstream } from '../../upstream/upstreams.ts'
import { healthOf } from '../gateway/health.ts'

type Labels = Readonly<Record<string, string>>
type Series = Map<string, { readonly name: string; readonly labels: Labels }>

export class UpstreamGauges {
  readonly #metrics: Pick<Metrics, 'gauge'>
  #reported: Series = new Map()

  constructor(metrics: Pick<Metrics, 'gauge'>) {
    this.#metrics = metrics
  }
  /** Those that a reload has removed go back to 0. */
  report(upstreams: ReadonlyMap<string, Upstream>): void {
    const series: Series = new Map()
    const set = (name: string, labels: Labels, isReady: boolean): void => {
      series.set(`${name} ${Object.values(labels).join(' ')}`, { name, labels })
      this.#metrics.gauge(name, labels, isReady ? 0 : 1)
    }
    const health = healthOf(upstreams)
    for (const [upstream, addresses] of Object.entries(health.upstreams))
      for (const { address, state } of addresses)
        set('upstreams_unavailable', { upstream, address }, state === 'ready')
    for (const [upstream, keys] of Object.entries(health.keys))
      for (const { key, state } of keys)
        set('keys_unavailable', { upstream, key }, state === 'ready')
    for (const [id, { name, labels }] of this.#reported)
      if (!series.has(id)) this.#metrics.gauge(name, labels, 0)
    this.#reported = series
  }
}
