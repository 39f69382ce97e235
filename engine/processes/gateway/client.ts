/** `host.gateway` in a worker: sends each call to the primary and waits for its result. */
import { errors, TollgateError } from '../../errors.ts'
import type { Gateway } from '../../plugin.ts'
import type { FromWorker, GatewayCall, GatewayResult } from '../messages.ts'

export { healthOf } from './health.ts'

const fault = errors({
  GATEWAY_TIMEOUT: [504, 'The gateway did not answer %s within %d s. Retry.'],
  GATEWAY_LOST: [
    503,
    'The primary process of the gateway has ended. Start the gateway again; its log has the reason.',
  ],
})

/** Longest waits, ms. A reload waits for a build and for every worker. */
const TIMEOUTS: Readonly<Record<GatewayCall['name'], number>> = {
  status: 5_000,
  readings: 5_000,
  history: 10_000,
  files: 10_000,
  diff: 10_000,
  check: 60_000,
  save: 10_000,
  edit: 10_000,
  schema: 20_000,
  reload: 120_000,
  rollback: 120_000,
}

type GatewayCalls = Omit<Gateway, 'routes'>
export interface GatewayClient extends GatewayCalls {
  /** Settles the call that a result belongs to. */
  onResult(result: GatewayResult): void
}

/** `send`: to the primary; resolves to whether it is still there. */
export const createGatewayClient = (
  send: (message: Extract<FromWorker, { type: 'gateway' }>) => boolean,
  timeouts = TIMEOUTS,
): GatewayClient => {
  const pending = new Map<number, PromiseWithResolvers<unknown>>()
  let serial = 0
  const call = async (call: GatewayCall): Promise<unknown> => {
    const id = ++serial
    const result = Promise.withResolvers<unknown>()
    pending.set(id, result)
    const ms = timeouts[call.name]
    const timer = setTimeout(
      () => result.reject(fault('GATEWAY_TIMEOUT', [call.name, ms / 1_000])),
      ms,
    )
    try {
      if (!send({ type: 'gateway', id, call })) throw fault('GATEWAY_LOST')
      return await result.promise
    } finally {
      clearTimeout(timer)
      pending.delete(id)
    }
  }
  // The primary answers each call with the type that the contract names.
  const typed = <Name extends keyof GatewayCalls>(message: GatewayCall & { readonly name: Name }) =>
    call(message) as ReturnType<GatewayCalls[Name]>
  return {
    status: () => typed({ name: 'status' }),
    readings: names => typed({ name: 'readings', names }),
    history: () => typed({ name: 'history' }),
    files: version => typed({ name: 'files', version }),
    diff: (from, to) => typed({ name: 'diff', from, to }),
    check: (text, file) => typed({ name: 'check', text, file }),
    save: (file, text, before) => typed({ name: 'save', file, text, before }),
    edit: edit => typed({ name: 'edit', edit }),
    schema: () => typed({ name: 'schema' }),
    reload: () => typed({ name: 'reload' }),
    rollback: version => typed({ name: 'rollback', version }),
    onResult({ id, result, error }) {
      if (error) pending.get(id)?.reject(new TollgateError(error.code, error.status, error.message))
      else pending.get(id)?.resolve(result)
    },
  }
}
