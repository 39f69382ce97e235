/** Sets what plugins add to upstreams: signers, and limiters of keys. */
import type { CredentialSigner } from '../../egress/contract.ts'
import { createOperatorRequest } from '../../egress/operator-request.ts'
import { isFields } from '../../kit.ts'
import type { Document, HostBase, Json, Plugin } from '../../plugin.ts'
import type { Upstream } from '../../upstream/upstreams.ts'
import { type CompileFault, describeError } from './compile-problem.ts'
import { nameOfKey } from './keys.ts'

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
      const members: CredentialSigner = typeof signer === 'function' ? { sign: signer } : signer
      upstream.signer = { ...members, name: plugin }
      if (members.key !== undefined) upstream.view.key = nameOfKey(members.key)
    } catch (error) {
      const where = ['upstreams', name, 'auth', plugin]
      faults.push({ where, plugin, ...describeError(error, 'PLUGIN_SETUP') })
    }
  }
}

/** Reports to `faults` what a plugin refuses. */
export const setKeyLimiters = (
  { document, plugins, upstreams, hostBase }: UpstreamContext,
  faults: CompileFault[],
): void => {
  for (const [plugin, { keys: method }] of plugins) {
    if (!method) continue
    for (const [name, { keys }] of upstreams) {
      for (const [index, entry] of entriesOf(document, name).entries()) {
        const key = keys?.list.find(each => each.name === nameOfKey(String(entry.key)))
        if (!key || !Object.keys(method.members).some(member => member in entry)) continue
        try {
          key.limiter = method.setup(entry, { ...hostBase, upstream: name, key: key.name })
        } catch (error) {
          const where = ['upstreams', name, 'key', index]
          faults.push({ where, plugin, ...describeError(error, 'PLUGIN_SETUP') })
        }
      }
    }
  }
}
interface UpstreamContext {
  readonly document: Document
  readonly plugins: ReadonlyMap<string, Plugin>
  readonly upstreams: ReadonlyMap<string, Upstream>
  readonly hostBase: HostBase
}
const entriesOf = ({ upstreams }: Document, name: string) => {
  const options = isFields(upstreams) ? upstreams[name] : undefined
  const list = isFields(options) && Array.isArray(options.key) ? options.key : []
  return (list as readonly Json[]).map(entry => (isFields(entry) ? entry : {}))
}
