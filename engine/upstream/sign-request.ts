/** The last change of a request: the credential of its upstream, then the stages that sign. */
import type { Body, SignableRequest, Target } from '../plugin.ts'
import type { Call } from '../request/exchange.ts'
import type { Candidate } from './candidate.ts'
import type { UpstreamKey } from './keys.ts'
import { joinPath, type Signer } from './upstreams.ts'

/** The part of an attempt that signers depend on. */
interface UnsignedAttempt {
  readonly exchange: Pick<Call, 'stages'>
  readonly candidate: Candidate
  readonly target: Target
  readonly request: { readonly method: string; readonly path: string; readonly body: Body }
  readonly signers: readonly Signer[]
  readonly key: UpstreamKey | undefined
}

/** Puts the credential on `headers`, or on the path. Returns the path to send; a promise only where
 *  a signer returns one. */
export const signRequest = (
  attempt: UnsignedAttempt,
  headers: SignableRequest['headers'],
): string | Promise<string> => {
  const { candidate, request, signers, key } = attempt
  const { upstream, origin, base } = candidate
  const path = upstream.sign(headers, joinPath(base, request.path), key)
  const all = upstream.signer ? [upstream.signer, ...signers] : signers
  if (all.length === 0 || origin.address === undefined) return path
  const { method, body } = request
  const isStreamed = body !== undefined && !(body instanceof Uint8Array)
  const url = new URL(origin.address + path)
  const signable = { method, url, headers, body: isStreamed ? undefined : body, isStreamed }
  const finalPath = (): string => url.pathname + url.search
  // A request that is not sent says nothing about its key.
  const abandon = (error: unknown): never => {
    key?.health.recordAbandoned()
    throw error
  }
  try {
    const waiting = runSigners(all, signable, attempt)
    return waiting ? waiting.then(finalPath, abandon) : finalPath()
  } catch (error) {
    return abandon(error)
  }
}

/** One after the other. */
const runSigners = (
  signers: readonly Signer[],
  request: SignableRequest,
  { exchange, target }: UnsignedAttempt,
): Promise<void> | undefined => {
  let waiting: Promise<void> | undefined
  for (const { name, sign } of signers) {
    const result = waiting
      ? waiting.then(() => sign(request, target))
      : (sign(request, target) ?? undefined)
    waiting = result && exchange.stages.guard(result, name)
  }
  return waiting
}
