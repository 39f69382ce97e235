/** An upstream as attempts use it: origins, deadlines, headers that pass, credentials. */
import type { timeouts } from '../config/sections/timeouts.ts'
import type { ValueOf } from '../config/shape.ts'
import type { CredentialSigner } from '../egress/contract.ts'
import type { Headers, UpstreamView } from '../plugin.ts'
import type { RequestHeaders } from '../response/headers.ts'
import type { CredentialMask } from './credential-mask.ts'
import type { HealthRules } from './health.ts'
import type { UpstreamKey, UpstreamKeys } from './keys.ts'
import type { Origin } from './origin.ts'
import type { WarmUpRules } from './warm-targets.ts'

/** ms; Infinity: none. */
export type Deadlines = Required<ValueOf<ReturnType<typeof timeouts>>>
/** Changes requests after everything else. `name`: its plugin, for the log. */
export interface Signer extends CredentialSigner {
  readonly name: string
}
export interface Upstream {
  readonly name: string
  /** The plugin that answers in the upstream's place; then its one origin has no pool. */
  readonly inside: string | undefined
  readonly origins: readonly { readonly origin: Origin; readonly base: string }[]
  readonly deadlines: Deadlines
  readonly health: HealthRules
  /** Undefined: its targets are never cold. */
  readonly warmUp?: WarmUpRules | undefined
  readonly set: Readonly<Record<string, string>>
  readonly view: Omit<UpstreamView, 'key'> & { key?: string }
  pass(headers: RequestHeaders): Headers
  readonly keys: UpstreamKeys | undefined
  /** ms that a request waits for a key if all have reached their limits. */
  readonly keyWait: number
  /** Hides the upstream's credentials in its answers. */
  readonly mask?: CredentialMask | undefined
  /** Adds the credential of an attempt to the headers, or to the path; returns the path. Without
   *  `key` the keys take turns. */
  sign(headers: Headers, path: string, key?: UpstreamKey): string
  /** The plugin that `auth:` names. */
  signer?: Signer
}

/** `/v1` + `/v1/x` is `/v1/x`: the end of the base is not repeated. */
export const joinPath = (base: string, path: string): string => {
  if (base === '') return path
  for (let from = 0; from >= 0; from = base.indexOf('/', from + 1)) {
    const end = base.slice(from)
    const next = path.startsWith(end) && (path[end.length] ?? '/')
    if (next === '/' || next === '?') return base.slice(0, from) + path
  }
  return base + path
}
