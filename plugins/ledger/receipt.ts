/** The way of a metered reply that is known whole: its head says what it cost. */
import type { Bytes, Exchange, Fault, Filter, Out } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { isEventStream } from '../formats/sse.ts'
import { USAGE } from '../slots.ts'
import type { Bill } from './bill.ts'
import type { Watching } from './estimate.ts'
import { endBehind } from './settling.ts'

/** The largest plain answer that is waited for, so that its head can say what it cost. */
const RECEIPT = 1024 * 1024

const isPlain = ({ reply, request }: Exchange): boolean =>
  /\bjson\b/i.test(String(reply.headers['content-type'] ?? '')) && !request.path.includes(':stream')

/** Whether it leaves in one piece: as its head says, or since all of it was there before it said too much. Of a longer one, and
 *  of a stream, the price is asked by their id. */
export const leavesWhole = (exchange: Exchange): boolean | Promise<boolean> => {
  if (!isPlain(exchange)) return false
  const length = exchange.reply.headers['content-length']
  return length === undefined ? gather(exchange) : Number(length) <= RECEIPT
}
const gather = async ({ reply }: Exchange): Promise<boolean> => {
  const first = await reply.peek(bytes => bytes.length > RECEIPT)
  if (first && first.length > RECEIPT) return false
  reply.body = first
  // With its length known nothing makes the head leave before the rest.
  reply.headers['content-length'] = String(first?.length ?? 0)
  return true
}
/** Its first bytes leave before it is known what it costs: the store knows of it before, and of what is known by then. */
export const holdAt = ({ reply, slots }: Exchange, bill: Bill, seen: Watching): void => {
  bill.hold()
  const usage = slots.get(USAGE)
  if (usage?.gauged) bill.note(usage)
  else if (isEventStream(reply)) seen.begin()
}
/** What is known whole says what it costs and what is left, and leaves in one piece: nothing of it before it is charged. */
export class Receipt implements Filter {
  readonly #exchange: Exchange
  readonly #bill: Bill
  readonly #seen: Watching
  #parts: Bytes[] = NONE
  constructor(exchange: Exchange, bill: Bill, seen: Watching) {
    this.#exchange = exchange
    this.#bill = bill
    this.#seen = seen
  }
  write(chunk: Bytes): void {
    if (this.#parts === NONE) this.#parts = []
    this.#parts.push(chunk)
    if (this.#parts.length >= LOOSE) this.#parts = [Buffer.concat(this.#parts)]
  }
  end(tail: Bytes | undefined, out: Out): void {
    const whole = this.#whole(tail)
    if (this.#seen.isFree) {
      this.#bill.release()
      return out.end(whole)
    }
    const usage = this.#seen.guessing(whole?.length ?? 0)
    const charge = (): Promise<void> | undefined => {
      this.#say(this.#bill.dueFor(usage))
      return this.#bill.settle(usage)
    }
    // What is said is what was charged, also where that is not all of it.
    endBehind(this.#bill.cover(usage)?.then(charge) ?? charge(), whole, out)
  }
  fail(reason: Fault, out: Out): void {
    this.#bill.release()
    out.fail(reason)
  }
  #whole(tail: Bytes | undefined): Bytes | undefined {
    if (this.#parts === NONE) return tail
    if (tail) this.#parts.push(tail)
    return Buffer.concat(this.#parts)
  }
  #say(nanos: bigint): void {
    const { headers } = this.#exchange.reply
    const balance = this.#bill.balanceAfter(nanos)
    headers['x-tollgate-charge'] = printMoney(nanos)
    if (balance !== undefined) headers['x-tollgate-balance'] = printMoney(balance)
  }
}
const NONE: Bytes[] = []
/** Pieces after which they become one: each takes more than its bytes. */
const LOOSE = 256
