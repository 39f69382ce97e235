/** Shared by operations on objects at a provider: the key that keeps an object, and its row. */
import type { Attempt, Exchange, Host, Target, UpstreamView } from '../../engine/plugin.ts'
import { ownerOf, readAs } from '../credentials/members.ts'
import { supportedFormats } from '../formats/supported-formats.ts'
import { ACCOUNT, MODEL } from '../slots.ts'
import { fault } from './faults.ts'
import { expiryOf } from './lifetime.ts'
import { FIND, type Kind, type Resource, resourceOf, targetOf } from './rows.ts'

export interface Operation {
  /** Sets the target. Returns the object that the request is about, if there is one. */
  start(exchange: Exchange, host: Host): Promise<Resource | undefined>
  /** Changes the request to the upstream. */
  send?(attempt: Attempt, resource: Resource | undefined): void
  /** Reads the successful response. */
  finish?(attempt: Attempt, resource: Resource | undefined, host: Host): Promise<unknown>
}
export const FORMAT = 'google-gemini'
/** Whether requests to the upstream may name objects that it keeps. */
export const keepsObjects = (upstream: UpstreamView | undefined): boolean =>
  supportedFormats({}, upstream).includes(FORMAT)
/** The object that the path names. Throws RESOURCE_UNKNOWN. */
export const findNamed =
  (kind: Kind, parameter: string) => async (exchange: Exchange, host: Host) => {
    const resource = await findOwn(`${kind}/${exchange.params[parameter] ?? ''}`, exchange, host)
    exchange.targets = [targetOf(resource)]
    return resource
  }
export const findOwn = async (name: string, { slots }: Exchange, host: Host): Promise<Resource> => {
  const [row] = await readAs(host.database, slots.need(ACCOUNT), FIND, [name])
  if (!row) throw fault('RESOURCE_UNKNOWN', [name.slice(0, 100)])
  return resourceOf(row)
}
/** One address and key of the first target. Each account has its own, so that a request may name
 *  all of its objects. */
export const placeOf = ({ targets, slots }: Exchange, host: Host): readonly Target[] => {
  const [first] = targets
  if (!first) return []
  const { affinity: _, ...target } = host.pin({
    ...first,
    affinity: `resources ${slots.need(ACCOUNT).id}`,
  })
  return [target]
}

export const rowOf = (
  { exchange, target }: Attempt,
  {
    kind,
    name,
    details,
    lifetime,
  }: Pick<Resource, 'kind' | 'name' | 'details'> & { readonly lifetime: number },
): Resource => {
  const created = Date.now()
  const model = exchange.slots.get(MODEL)
  return {
    ...ownerOf(exchange.slots.need(ACCOUNT)),
    name,
    kind,
    upstream: target.upstream,
    pin: target.pin,
    ...(model && { model: { asked: model.asked, entry: model.entry } }),
    details,
    created,
    expires: expiryOf(details) ?? created + lifetime,
  }
}
