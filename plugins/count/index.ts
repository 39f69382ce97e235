/** How many tokens a request has: asked of a target that speaks the client's format, estimated for any other. Nobody pays
 *  for it, and nothing is written. */
import type { Attempt, Host, Plugin } from '../../engine/plugin.ts'
import { DroppedFieldReport } from '../conversion/dropped-fields.ts'
import { estimatePromptTokens } from '../conversion/token-estimate.ts'
import { checkError, discardBody } from '../conversion/upstream-error.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import type { Format } from '../formats/format.ts'
import { formats } from '../formats/index.ts'
import { holdsSeal } from '../formats/seal.ts'
import { speaks, spokenBy } from '../formats/spoken.ts'
import { isPaid } from '../ledger/views/route.ts'
import { MODEL } from '../slots.ts'
import { type CountVerb, countVerbs } from './verbs.ts'

const names = [...countVerbs.keys()]
/** An upstream that knows no such question. */
const UNKNOWN: ReadonlySet<number> = new Set([404, 405, 501])

export default {
  schema: {
    description: 'The format in which clients of this route ask how many tokens a request has.',
    type: 'string',
    enum: names,
    examples: names,
  },
  // The sandbox answers in the format of the target; `model` chose the targets.
  before: ['sandbox'],
  after: ['model'],
  setup(name, host) {
    const [format, verb] = [formats.get(name), countVerbs.get(name)]
    if (!format?.codec || !verb)
      throw new Error(`nobody counts in "${name}"; there are ${names.join(', ')}`)
    if (isPaid(host.route))
      throw new Error('a count is never paid for: say `meter: { free: true }` on this route')
    const count = new Count(format, verb, host)
    return {
      forward: (attempt, next) => count.forward(attempt, next),
      explain: () => ({ counts: name }),
    }
  },
} satisfies Plugin<string>

class Count {
  readonly #format: Format
  readonly #verb: CountVerb
  readonly #host: Host
  constructor(format: Format, verb: CountVerb, host: Host) {
    this.#format = format
    this.#verb = verb
    this.#host = host
  }
  async forward(attempt: Attempt, next: () => Promise<void>): Promise<void> {
    const { request } = attempt.exchange
    const json = request.parsed ?? (await request.json())
    const body = isFields(json) ? json : {}
    if (!(await this.#passes(attempt, body))) return this.#estimate(attempt, body)
    this.#address(attempt, body)
    await next()
    const { reply } = attempt
    if (UNKNOWN.has(reply.status)) {
      await discardBody(reply)
      return this.#estimate(attempt, body)
    }
    if (reply.status >= 300) await checkError(this.#host.log, this.#format, attempt)
  }
  /** Whether its target is asked: not with what another provider sealed, nor in words of ours. */
  async #passes({ target, exchange }: Attempt, body: Fields): Promise<boolean> {
    const upstream = this.#host.upstreams[target.upstream]
    const speaksIt = speaks(spokenBy(target, upstream), this.#format.name)
    if (upstream?.inside !== undefined || !speaksIt) return false
    const asked = this.#verb.asked(body)
    if (this.#format.codec?.needsReading?.(asked, target.traits ?? {})) return false
    return !holdsSeal(await exchange.request.bytes())
  }
  #address({ request, target, exchange }: Attempt, body: Fields): void {
    const { model, headers } = this.#format
    const name = target.name ?? exchange.slots.get(MODEL)?.asked ?? ''
    for (const key in headers) request.headers[key] ??= headers[key] ?? ''
    request.headers['content-type'] = 'application/json'
    delete request.headers['content-length']
    request.body = Buffer.from(JSON.stringify(this.#verb.renamed(body, name)))
    if (model !== 'body') request.path = model.rename(request.path, name)
  }
  #estimate(attempt: Attempt, body: Fields): void {
    const { codec } = this.#format
    if (!codec) return
    const { path } = attempt.exchange.request
    const prompt = codec.decodePrompt(
      this.#verb.asked(body),
      path,
      new DroppedFieldReport(codec.settings),
    )
    attempt.answer(200, this.#verb.told(estimatePromptTokens(prompt)), {
      'x-tollgate-estimated': 'true',
    })
  }
}
