/** The head of a plain answer that says what it cost. */
import type { Exchange } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { isEventStream } from '../formats/sse.ts'
import { USAGE, type Usage } from '../slots.ts'
import type { Bill } from './bill.ts'
import type { Watching } from './estimate.ts'

/** The largest plain answer that is waited for, so that its head can say what it cost. */
const RECEIPT = 1024 * 1024

const isPlain = ({ reply, request }: Exchange): boolean =>
  /\bjson\b/i.test(String(reply.headers['content-type'] ?? '')) && !request.path.includes(':stream')

/** All of a plain answer. Of a longer one, and of a stream, the price is asked by their id. */
export const wholeOf = async (exchange: Exchange): Promise<Uint8Array | undefined> => {
  if (!isPlain(exchange)) return undefined
  const first = (await exchange.reply.peek(bytes => bytes.length > RECEIPT)) ?? Buffer.alloc(0)
  return first.length > RECEIPT ? undefined : first
}
/** Its first bytes leave before it is known what it costs: the store knows of it before, and of what is known by then. */
export const holdAt = ({ reply, slots }: Exchange, bill: Bill, seen: Watching): void => {
  bill.hold()
  const usage = slots.get(USAGE)
  if (usage?.gauged) bill.note(usage)
  else if (isEventStream(reply)) seen.begin()
}
/** What is known whole says what it costs and what is left, and leaves in one piece: nothing of it before it is charged. */
export const sayCharge = (
  { reply, slots }: Exchange,
  bill: Bill,
  seen: Watching,
  whole: Uint8Array,
): Usage => {
  const usage = seen.guessing(whole.length, slots.get(USAGE))
  reply.body = whole
  const nanos = bill.priceOf(usage)
  const balance = bill.balanceAfter(nanos)
  reply.headers['x-tollgate-charge'] = printMoney(nanos)
  if (balance !== undefined) reply.headers['x-tollgate-balance'] = printMoney(balance)
  return usage
}
