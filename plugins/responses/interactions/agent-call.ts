/** Calls of agents that the provider runs, such as Deep Research: their request for the
 *  upstream, and their cancellation there when no client waits any more. */
import type { Attempt, Exchange, Host, Target } from '../../../engine/plugin.ts'
import { routeFormat } from '../../conversion/route-format.ts'
import { discardBody } from '../../conversion/upstream-error.ts'
import { type Fields, lenientObject, lenientText } from '../../formats/fields.ts'
import { namesAgent } from '../../formats/hosted-tools.ts'
import { isEventStream } from '../../formats/stream/sse.ts'
import { supportedFormats, supportsFormat } from '../../formats/supported-formats.ts'
import { SERVED } from '../../slots.ts'
import { fault } from '../faults.ts'

export { namesAgent }

/** Google's documentation of Deep Research: "You must use background execution". */
const BACKGROUND_AGENT = /^deep-research/
/** Throws AGENT_FOREGROUND, and the refusal of the format if no target can run an agent. */
export const checkAgent = (body: Fields, { targets }: Exchange, host: Host): void => {
  const format = routeFormat(host)
  const refusal = format?.ownOnly?.(body)
  const canRun = (target: Target): boolean =>
    supportsFormat(supportedFormats(target, host.upstreams[target.upstream]), format?.name ?? '')
  if (refusal && !targets.some(canRun)) throw refusal
  const names = [
    lenientText(body, 'agent'),
    lenientText(lenientObject(body, 'agent_config'), 'type'),
  ]
  const [agent = ''] = names
  if (body.background !== true && names.some(name => BACKGROUND_AGENT.test(name ?? '')))
    throw fault('AGENT_FOREGROUND', [agent])
}

/** The request for the upstream. It runs and stores an agent in the background itself; for a client
 *  that polls the gateway, the stream of the upstream lasts until the end. */
export const agentRequest = (body: Fields, inBackground: boolean): Fields => {
  const { previous_interaction_id: _, ...rest } = body
  return inBackground ? { ...rest, store: true, stream: true } : rest
}

/** Cancels the agent at its upstream if the call ends before it. Call it with the reply of the
 *  upstream. */
export const cancelWithCall = ({ exchange, reply, target }: Attempt, host: Host): void => {
  if (!isEventStream(reply)) return
  exchange.onEnd(({ end }) => {
    const { id } = exchange.slots.get(SERVED) ?? {}
    if (id !== undefined && end !== 'complete') void cancelAt(target.upstream, id, host)
  })
}
/** Another key of the upstream does not know the interaction. */
const cancelAt = async (upstream: string, id: string, host: Host): Promise<void> => {
  const path = `/v1beta/interactions/${encodeURIComponent(id)}/cancel`
  try {
    for (const pin of host.pins(upstream)) {
      const reply = await host.send(upstream, { method: 'POST', path, pin })
      await discardBody(reply)
      if (reply.status < 300) return
    }
    host.log.warn({ id, upstream }, 'the upstream did not cancel an agent')
  } catch (error) {
    host.log.warn({ id, upstream, error }, 'could not cancel an agent at the upstream')
  }
}
