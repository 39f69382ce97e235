/** A guard whose decisions a webhook of the operator takes. */
import { isFields } from '../../engine/kit.ts'
import type { HostBase, OperatorResponse } from '../../engine/plugin.ts'
import { MODEL } from '../slots.ts'
import { type Placed, unmetDemand } from '../zones/rule.ts'
import { checkStatus, type Decider, type Decision, type Question } from './decider.ts'
import type { Guard } from './section.ts'

const ACTIONS = ['pass', 'block', 'mask'] as const

export class Webhook implements Decider {
  readonly kind = 'webhook'
  readonly #name: string
  readonly #url: string
  readonly #timeout: number
  readonly #placed: Placed
  readonly #host: Pick<HostBase, 'request'>
  constructor(
    name: string,
    { webhook = '', timeout, zone, retention }: Guard,
    host: Pick<HostBase, 'request'>,
  ) {
    this.#name = name
    this.#placed = { zones: zone ?? [], retention }
    this.#url = webhook
    this.#timeout = timeout
    this.#host = host
  }
  async decide({ exchange, side, texts }: Question): Promise<Decision> {
    const { id, slots } = exchange
    const unmet = unmetDemand(exchange, this.#placed)
    if (unmet !== undefined) throw new Error(`it is not ${unmet}, which the call demands`)
    const model = slots.get(MODEL)?.asked ?? null
    const question = { guard: this.#name, request: id, model, on: side, texts }
    const response = await askWebhook(this.#host, this.#url, question, this.#timeout)
    return readAction(response, texts)
  }
}

interface WebhookQuestion {
  readonly guard: string
  readonly request: string | null
  readonly model: string | null
  readonly on: string
  readonly texts: readonly string[]
}
export const askWebhook = (
  { request }: Pick<HostBase, 'request'>,
  url: string,
  question: WebhookQuestion,
  timeout: number,
): Promise<OperatorResponse> =>
  request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(question),
    timeout,
  })
/** Throws if it is not a decision about these texts. */
export const readAction = (
  { status, text }: Pick<OperatorResponse, 'status' | 'text'>,
  texts: readonly string[],
): Decision => {
  checkStatus(status)
  const reply: unknown = status === 200 ? JSON.parse(text) : undefined
  const action = isFields(reply) ? ACTIONS.find(each => each === reply.action) : undefined
  if (!isFields(reply) || action === undefined)
    throw new Error(`it answered ${status} without an action`)
  const list = Array.isArray(reply.texts) ? reply.texts : []
  if (action === 'mask' && list.length !== texts.length)
    throw new Error('its texts are not as many as those sent')
  return { action, texts: list.map(String), labels: [] }
}
