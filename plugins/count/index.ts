/** Plugin `count`: counts the tokens of a request. A target that supports the client's format
 *  counts them itself; for any other target they are estimated. Token counts are free. */
import { oneOf } from '../../engine/config/shape.ts'
import type { Attempt, Host, Plugin } from '../../engine/plugin.ts'
import { DroppedFieldReport } from '../conversion/dropped-fields.ts'
import { estimatePromptTokens } from '../conversion/token-estimate.ts'
import { checkError, discardBody } from '../conversion/upstream-error.ts'
import { mayNameFile } from '../file-store/file-ids.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import type { CountFacts, Format } from '../formats/format.ts'
import { hasForeignPayload } from '../formats/hub/opaque-payload.ts'
import { formats, formatsOf } from '../formats/index.ts'
import { omitNulls } from '../formats/request-edits.ts'
import { supportedFormats, supportsFormat } from '../formats/supported-formats.ts'
import { isPaid } from '../ledger/views/route.ts'
import { EXPANDED_REQUEST, MODEL } from '../slots.ts'

const names = [...formats.values()].flatMap(({ name, counting }) => (counting ? [name] : []))
/** Statuses of upstreams that do not support token counting. */
const UNSUPPORTED: ReadonlySet<number> = new Set([404, 405, 501])

export default {
  schema: oneOf('The format of token count requests on this route.', names, {
    type: 'string',
    $comment: 'formats',
    examples: names,
  }).schema,
  // The sandbox answers in the format of the target; `model` chose the targets.
  before: ['sandbox'],
  after: ['model'],
  setup(name, host) {
    const format = formatsOf(host).clients.get(name)
    if (!format?.codec || !format.counting)
      throw new Error(`the format "${name}" has no token counting; use one of ${names.join(', ')}`)
    if (isPaid(host.route))
      throw new Error('token counts cannot be charged: set `meter: { free: true }` on this route')
    const count = new TokenCounter(format, format.counting, host)
    const { schema } = format.counting
    return {
      describe: () => ({
        summary: 'Counts the tokens of a request, free of charge',
        responses: { 'application/json': schema },
        headers: { 'x-tollgate-estimated': 'true: the count is an estimate' },
      }),
      forward: (attempt, next) => count.forward(attempt, next),
      explain: () => ({ counts: name }),
    }
  },
} satisfies Plugin<string>

class TokenCounter {
  readonly #format: Format
  readonly #counting: CountFacts
  readonly #host: Host
  constructor(format: Format, counting: CountFacts, host: Host) {
    this.#format = format
    this.#counting = counting
    this.#host = host
  }
  async forward(attempt: Attempt, next: () => Promise<void>): Promise<void> {
    const { request, slots } = attempt.exchange
    const json = slots.get(EXPANDED_REQUEST)?.body ?? request.parsed ?? (await request.json())
    const body = isFields(json) ? json : {}
    if (!(await this.#canTargetCount(attempt, body))) return this.#estimate(attempt, body)
    this.#writeRequest(attempt, body)
    await next()
    const { reply } = attempt
    if (UNSUPPORTED.has(reply.status)) {
      await discardBody(reply)
      return this.#estimate(attempt, body)
    }
    if (reply.status >= 300) await checkError(this.#host.log, this.#format, attempt)
  }
  /** Whether the target can count the request itself: not for opaque payloads of another provider,
   *  nor for stored files, nor if the request needs translation. */
  async #canTargetCount({ target, exchange }: Attempt, body: Fields): Promise<boolean> {
    const upstream = this.#host.upstreams[target.upstream]
    const hasFormat = supportsFormat(supportedFormats(target, upstream), this.#format.name)
    if (upstream?.inside !== undefined || !hasFormat) return false
    const request = this.#counting.countedRequest(body)
    if (this.#format.codec?.needsTranslation?.(request, target.traits ?? {})) return false
    const isExpanded = exchange.slots.get(EXPANDED_REQUEST) !== undefined
    const bytes = isExpanded ? Buffer.from(JSON.stringify(body)) : await exchange.request.bytes()
    return !hasForeignPayload(bytes) && !mayNameFile(bytes)
  }
  #writeRequest({ request, target, exchange }: Attempt, body: Fields): void {
    const { model, headers } = this.#format
    const name = target.name ?? exchange.slots.get(MODEL)?.asked ?? ''
    for (const key in headers) request.headers[key] ??= headers[key] ?? ''
    request.headers['content-type'] = 'application/json'
    delete request.headers['content-length']
    request.body = Buffer.from(JSON.stringify(this.#counting.renameModel(body, name)))
    omitNulls(this.#format, request, body)
    if (model !== 'body') request.path = model.rename(request.path, name)
  }
  #estimate(attempt: Attempt, body: Fields): void {
    const { codec } = this.#format
    if (!codec) return
    const { path } = attempt.exchange.request
    const prompt = codec.decodePrompt(
      this.#counting.countedRequest(body),
      path,
      new DroppedFieldReport(codec.settings),
    )
    attempt.answer(200, this.#counting.encodeCount(estimatePromptTokens(prompt)), {
      'x-tollgate-estimated': 'true',
    })
  }
}
