/** Charges a response that is complete before its head leaves, and adds charge and balance to its
 *  headers. */
import type { Bytes, Exchange, Fault, Filter, Out } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { isEventStream } from '../formats/stream/sse.ts'
import { asksForStreamByPath } from '../formats/stream-request.ts'
import { CACHED, USAGE, type Usage } from '../slots.ts'
import type { MeteredCall } from './metered-call.ts'
import { endAfter, SettlementFilter } from './settlement-filter.ts'
import type { UsageEstimator } from './usage-estimator.ts'

/** Bytes of the largest plain response that is buffered, so that its headers can carry the
 *  charge. */
const MAX_RECEIPT_BYTES = 1024 * 1024

const isPlain = ({ reply, request }: Exchange): boolean =>
  /\bjson\b/i.test(String(reply.headers['content-type'] ?? '')) &&
  !asksForStreamByPath(request.path)

/** Charges the response: before its head, with receipt headers, if it is complete by then, and at
 *  its end otherwise. */
export const meterResponse = async (
  exchange: Exchange,
  call: MeteredCall,
  estimator: UsageEstimator,
): Promise<void> => {
  let isWhole: boolean
  try {
    isWhole = await isSentWhole(exchange)
  } catch (error) {
    await chargeIfBlocked(call, estimator)
    throw error
  }
  if (!isWhole) holdBeforeHead(exchange, call, estimator)
  const Filter = isWhole ? ReceiptFilter : SettlementFilter
  exchange.reply.through(new Filter(exchange, call, estimator))
}

/** Whether the response is sent in one piece: its content-length is small, or its body ends within
 *  the limit. Clients look up the charge of others by the request id. */
const isSentWhole = (exchange: Exchange): boolean | Promise<boolean> => {
  if (!isPlain(exchange)) return false
  const length = exchange.reply.headers['content-length']
  return length === undefined ? peekWhole(exchange) : Number(length) <= MAX_RECEIPT_BYTES
}
const peekWhole = async ({ reply }: Exchange): Promise<boolean> => {
  const first = await reply.peek(bytes => bytes.length > MAX_RECEIPT_BYTES)
  if (first && first.length > MAX_RECEIPT_BYTES) return false
  reply.body = first
  // With a known length the head leaves together with the body.
  reply.headers['content-length'] = String(first?.length ?? 0)
  return true
}
/** Charges an answer that a guard blocked; any other that failed is free. */
const chargeIfBlocked = (
  call: MeteredCall,
  estimator: UsageEstimator,
): Promise<void> | undefined => {
  if (!estimator.isOwed || estimator.isFree) return call.release()
  return call.settle(estimator.finalUsage())
}
/** Stores the hold and a checkpoint before the first byte, since the cost is unknown by then. */
const holdBeforeHead = (
  { kind, reply, slots }: Exchange,
  call: MeteredCall,
  estimator: UsageEstimator,
): void => {
  call.hold()
  // A resumed call delivers nothing before its end: a crash must not charge it.
  if (kind === 'turn') return
  const cached = slots.get(CACHED)
  // The checkpoint of the admission is that of a call that an upstream answers.
  if (cached) return call.checkpointBeforeHead(cached.usage)
  const usage = slots.get(USAGE)
  if (usage?.isFinalEstimate) call.checkpoint(usage)
  else if (isEventStream(reply)) estimator.startCheckpoints()
}
/** Buffers a complete response until it is charged, then sends it in one piece. */
class ReceiptFilter implements Filter {
  readonly #exchange: Exchange
  readonly #call: MeteredCall
  readonly #estimator: UsageEstimator
  #parts: Bytes[] = NO_PARTS
  constructor(exchange: Exchange, call: MeteredCall, estimator: UsageEstimator) {
    this.#exchange = exchange
    this.#call = call
    this.#estimator = estimator
  }
  write(chunk: Bytes): void {
    if (this.#parts === NO_PARTS) this.#parts = []
    this.#parts.push(chunk)
    if (this.#parts.length >= MAX_PARTS) this.#parts = [Buffer.concat(this.#parts)]
  }
  end(tail: Bytes | undefined, out: Out): void {
    const whole = this.#concat(tail)
    if (this.#estimator.isFree) {
      this.#call.release()
      return out.end(whole)
    }
    const usage = this.#estimator.estimate(whole?.length ?? 0)
    const charge = (): Promise<void> | undefined => {
      const adding = this.#addReceiptHeaders(usage)
      // A client that disconnects meanwhile is charged: the balance is of the receipt alone.
      const settling = this.#call.settle(usage)
      return adding?.then(() => settling) ?? settling
    }
    // The headers carry the charge, also if the balance did not cover all of the cost.
    endAfter(this.#call.collectOverage(usage)?.then(charge) ?? charge(), whole, out)
  }
  fail(reason: Fault, out: Out): void {
    const charge = chargeIfBlocked(this.#call, this.#estimator)
    if (!charge) return out.fail(reason)
    void charge.then(() => out.fail(reason))
  }
  #concat(tail: Bytes | undefined): Bytes | undefined {
    if (this.#parts === NO_PARTS) return tail
    if (tail) this.#parts.push(tail)
    return Buffer.concat(this.#parts)
  }
  /** A promise only if the balance must be read. */
  #addReceiptHeaders(usage: Usage): Promise<void> | undefined {
    const { headers } = this.#exchange.reply
    const balance = this.#call.balanceAfter(usage)
    headers['x-tollgate-charge'] = printMoney(this.#call.dueFor(usage))
    const addBalance = (nanos: bigint | undefined): undefined => {
      if (nanos !== undefined) headers['x-tollgate-balance'] = printMoney(nanos)
    }
    return balance instanceof Promise ? balance.then(addBalance) : addBalance(balance)
  }
}
const NO_PARTS: Bytes[] = []
/** Chunks after which they are concatenated: each takes more memory than its bytes. */
const MAX_PARTS = 256
