/** The copies of one process: they wait in a bounded queue, are sent a few at a time, and are
 *  compared with their first calls in metrics and the log. */
import { largeTurn } from '../../engine/kit.ts'
import type { Fault, HostBase, Json } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { sendingFormat, sendPrompt } from '../conversion/send-prompt.ts'
import { refusalOfOwner } from '../credentials/work-owner.ts'
import { isRunByProvider, type Prompt } from '../formats/hub/prompt.ts'
import { ACCOUNT } from '../slots.ts'
import { factsOfAnswer } from './answer-facts.ts'
import type { CallFacts, Copy } from './copy.ts'
import { CostBook, costOf } from './cost-book.ts'

/** Copies that wait, and their bytes; more are dropped and counted. */
const MAX_WAITING = 200
const MAX_SIZE = 16 * 1024 * 1024
/** Copies that are sent at the same time. */
const PARALLEL = 4

export const LOST_METRIC = 'mirror_lost_total'
const CALLS = 'mirror_calls_total'
const SECONDS = 'mirror_seconds'
const TOKENS = 'mirror_tokens_total'
const COST = 'mirror_cost_total'
export const METRICS = {
  [LOST_METRIC]:
    'Chosen requests that were not sent a second time: the queue was full (`queue`), the target is not permitted (`zone`), the provider would run tools (`tools`) or has to know an earlier response (`stored`), the owner of the call has ended (`owner`), the store cannot tell whether it has or what the budget has left (`store`), the budget is used up (`budget`), or the process or its configuration ended (`closed`).',
  [CALLS]:
    'Calls of models with `mirror:` that were sent twice, by side (`first`, `mirror`) and result: `ok`, a status, or the code of a fault.',
  [SECONDS]: 'Times to the whole answer of calls that were sent twice, by side.',
  [TOKENS]: 'Tokens of calls that were sent twice, by side and meter.',
  [COST]:
    'Of calls that were sent twice: what customers paid (`first`) and what the copies cost you (`mirror`), in units of the currency.',
}

export class Mirror {
  readonly #host: HostBase
  readonly #book: CostBook
  readonly #waiting: Copy[] = []
  readonly #closing = new AbortController()
  #size = 0
  #running = 0

  constructor(host: HostBase) {
    this.#host = host
    this.#book = new CostBook(host)
    host.membership.leaving.addEventListener('abort', this.#close, { once: true })
  }
  /** Adds the copy of a call that has ended. */
  add(copy: Copy): void {
    const reason = this.#reasonAgainst(copy)
    if (reason !== undefined) return this.#lose(copy, reason)
    this.#size += copy.size
    this.#waiting.push(copy)
    this.#start()
  }
  /** Aborts the copies that are being sent, and drops those that wait. */
  close(): void {
    this.#host.membership.leaving.removeEventListener('abort', this.#close)
    this.#close()
  }
  readonly #close = (): void => {
    this.#closing.abort()
    for (const copy of this.#waiting.splice(0)) this.#lose(copy, 'closed')
    this.#size = 0
  }
  #reasonAgainst({ prompt, size }: Copy): string | undefined {
    if (this.#closing.signal.aborted) return 'closed'
    if (prompt.previous !== undefined) return 'stored'
    if (hasProviderTools(prompt)) return 'tools'
    const isFull = this.#waiting.length >= MAX_WAITING || this.#size + size > MAX_SIZE
    return isFull ? 'queue' : undefined
  }
  #lose({ own: { model } }: Copy, reason: string): void {
    this.#host.metrics.count(LOST_METRIC, { model, reason })
  }
  #start(): void {
    while (this.#running < PARALLEL) {
      const copy = this.#waiting.shift()
      if (!copy) return
      this.#running++
      void this.#run(copy)
    }
  }
  async #run(copy: Copy): Promise<void> {
    await largeTurn()
    const reason = await this.#ownerRefusal(copy)
    const reservation = reason === undefined ? await this.#book.reserve(copy) : reason
    const isRefused = typeof reservation === 'string'
    const mirror = isRefused ? undefined : await this.#send(copy)
    this.#size = Math.max(0, this.#size - copy.size)
    this.#running--
    if (this.#closing.signal.aborted) this.#lose(copy, 'closed')
    else if (isRefused) this.#lose(copy, reservation)
    else if (mirror) {
      this.#report(copy, mirror)
      await this.#book.record(copy, mirror, reservation)
    }
    this.#start()
  }
  /** Why the key or the account of the call may begin no more work, or the store cannot tell. */
  #ownerRefusal({ account }: Copy): Promise<'owner' | 'store' | undefined> {
    const slots = account ? { [ACCOUNT.name]: account as unknown as Json } : {}
    return refusalOfOwner(this.#host, slots).then(
      refusal => refusal && 'owner',
      () => 'store',
    )
  }
  /** Never rejects. */
  async #send({ own: { target, rule, price: rule_ }, prompt }: Copy): Promise<CallFacts> {
    const start = performance.now()
    const at = Date.now()
    const facts = { target: `${target.upstream}/${target.name}`, usage: null, cost: null }
    const ms = () => Math.round(performance.now() - start)
    try {
      const format = sendingFormat(this.#host, target)
      if (!format) return { ...facts, status: 0, error: 'MIRROR_FORMAT', ms: ms() }
      const limits = { timeout: rule.timeout, signal: this.#closing.signal }
      const request = { ...prompt, includeUsage: true }
      const { status, answer } = await sendPrompt(this.#host, { target, format }, request, limits)
      const usage = answer?.meters ?? null
      const cost = usage && rule_ ? printMoney(costOf(usage, rule_, at)) : null
      const own = answer && { answer: factsOfAnswer(answer) }
      return { ...facts, status, error: null, ms: ms(), usage, cost, ...own }
    } catch (error) {
      const { code = 'ERROR', status = 0 } = error as Partial<Fault>
      return { ...facts, status, error: code, ms: ms() }
    }
  }
  #report({ own: { model }, request, account, first }: Copy, mirror: CallFacts): void {
    const { metrics, log } = this.#host
    for (const [side, call] of Object.entries({ first, mirror })) {
      const labels = { model, side }
      metrics.count(CALLS, { ...labels, result: resultOf(call) })
      metrics.time(SECONDS, labels, call.ms / 1_000)
      for (const meter of ['input', 'output'] as const)
        metrics.count(TOKENS, { ...labels, meter }, call.usage?.[meter] ?? 0)
      if (call.cost !== null) metrics.count(COST, labels, Number(call.cost))
    }
    const sides = { first: withoutAnswer(first), mirror: withoutAnswer(mirror) }
    log.info({ request, account: account?.id ?? null, model, ...sides }, 'a call was sent twice')
  }
}

const withoutAnswer = ({ answer, ...facts }: CallFacts) => facts
/** The provider would run them a second time. */
const hasProviderTools = ({ tools, agent }: Prompt): boolean =>
  agent !== undefined || tools.some(isRunByProvider)

const resultOf = ({ error, status }: CallFacts): string =>
  error ?? (status < 300 ? 'ok' : String(status))
