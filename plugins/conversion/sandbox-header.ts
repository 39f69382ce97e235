/** The header that marks answers of the sandbox. */
import type { Headers, HostBase } from '../../engine/plugin.ts'

export const SANDBOX_HEADER: Headers = { 'x-tollgate-sandbox': 'true' }

/** For answers of the gateway about what an upstream does; empty if that is a real one. */
export const sandboxHeaderOf = (
  { upstreams }: Pick<HostBase, 'upstreams'>,
  upstream: string,
): Headers => (upstreams[upstream]?.inside === 'sandbox' ? SANDBOX_HEADER : {})
