/** Reports ejected addresses and resting keys to the log and the metrics of the process. */
import type { Resources } from '../../snapshot/resources.ts'
import type { HealthListener } from '../../upstream/health.ts'

/** A listener for an address, or for one of its keys. */
export type ListenToHealth = (address: string, key?: string) => HealthListener

export const healthListeners =
  ({ log, metrics }: Pick<Resources, 'log' | 'metrics'>): ListenToHealth =>
  (address, key) =>
    key === undefined
      ? {
          onEject(ms) {
            metrics.count('ejections_total', { address })
            log.warn({ address, ms }, 'address ejected: it failed several times in a row')
          },
          onReadmit: () => log.info({ address }, 'address answers again'),
          onWarmUp(target, ms, isWarm) {
            metrics.count('warm_ups_total', { address, result: isWarm ? 'answered' : 'failed' })
            if (isWarm) log.info({ address, target, ms }, 'target warmed up')
            else log.warn({ address, target, ms }, 'target could not be warmed up')
          },
        }
      : {
          onEject(ms) {
            metrics.count('key_rests_total', { address, key, reason: 'refused' })
            log.error({ address, key, ms }, 'key rests: the upstream refused it')
          },
          onReadmit: () => log.info({ address, key }, 'key is accepted again'),
          onLimit(ms, target, reason) {
            metrics.count('key_rests_total', { address, key, reason })
            if (reason === 'steered') return
            log.info({ address, key, ms, target }, 'key rests: the upstream limited it')
          },
        }
