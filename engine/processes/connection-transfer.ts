/** Connections on their way to a child process: several at once, where Node lets one arrive before it sends the next. */
import type { ChildProcess, SendHandle } from 'node:child_process'

// Until a handle was acknowledged, a turn of the child's loop later, Node keeps every other message back, so that what got
// lost can be sent again. A bare handle is never sent again, and the door has its own acknowledgements. A Node without this
// queue sends at once or one by one as it likes.
interface Queueing {
  _handleQueue?: unknown[] | null
}
const ARRIVED = new Set(['NODE_HANDLE_ACK', 'NODE_HANDLE_NACK'])

/** To be called once, before the first. */
export const expectMany = (child: ChildProcess): void => {
  const queueing = child as Queueing
  // Each acknowledgement takes the queue away, and the next one insists that there is one.
  child.prependListener('internalMessage', ({ cmd }: { readonly cmd?: string }) => {
    if (cmd !== undefined && ARRIVED.has(cmd)) queueing._handleQueue ??= []
  })
}
/** What other messages wait for is waited for. */
export const handOver = (child: ChildProcess, message: object, handle: SendHandle): void => {
  const queueing = child as Queueing
  if (queueing._handleQueue?.length === 0) queueing._handleQueue = null
  child.send(message, handle)
}
