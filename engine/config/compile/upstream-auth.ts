/** Sets the signers of upstreams whose `auth:` names a plugin. */
import { createOperatorRequest } from '../../egress/operator-request.ts'
import { isFields } from '../../kit.ts'
import type { Document, HostBase, Json, Plugin } from '../../plugin.ts'
import type { Upstream } from '../../upstream/upstreams.ts'
import { type CompileFault, describeError } from './compile-problem.ts'

/** Reports to `faults` what a plugin refuses. */
export const setSigners = (
  document: Document,
  plugins: ReadonlyMap<string, Plugin>,
  upstreams: ReadonlyMap<string, Upstream>,
  hostBase: HostBase,
  faults: CompileFault[],
): void => {
  for (const [name, options] of Object.entries((document.upstreams ?? {}) as Json as object)) {
    const { auth, proxy } = options as { readonly auth?: Json; readonly proxy?: string }
    const [plugin, value] = (isFields(auth) && Object.entries(auth)[0]) || []
    const method = plugin === undefined ? undefined : plugins.get(plugin)?.auth
    const upstream = upstreams.get(name)
    if (plugin === undefined || !method || !upstream) continue
    try {
      const host = { ...hostBase, upstream: name, request: createOperatorRequest(proxy) }
      const signer = method.setup(value, host)
      const members = typeof signer === 'function' ? { sign: signer } : signer
      upstream.signer = { ...members, name: plugin }
    } catch (error) {
      const where = ['upstreams', name, 'auth', plugin]
      faults.push({ where, plugin, ...describeError(error, 'PLUGIN_SETUP') })
    }
  }
}
