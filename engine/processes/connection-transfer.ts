/** Sends connections to a child process in a pipeline, where Node sends the next one only after an
 *  acknowledgement. */
import type { ChildProcess, SendHandle } from 'node:child_process'

// Node holds every other message back until the child acknowledges a handle, one turn of its event
// loop later, so that a lost handle can be sent again. A bare handle is never sent again, and the
// connection distributor has its own acknowledgements. A Node without this queue still works: it
// sends at once or one by one.
interface ChildWithQueue {
  _handleQueue?: unknown[] | null
}
const ACKNOWLEDGEMENTS = new Set(['NODE_HANDLE_ACK', 'NODE_HANDLE_NACK'])

/** Prepares a child. Call it once, before the first connection. */
export const enablePipelining = (child: ChildProcess): void => {
  const childWithQueue = child as ChildWithQueue
  // Each acknowledgement removes the queue, and the next one throws without a queue.
  child.prependListener('internalMessage', ({ cmd }: { readonly cmd?: string }) => {
    if (cmd !== undefined && ACKNOWLEDGEMENTS.has(cmd)) childWithQueue._handleQueue ??= []
  })
}
/** Sends a connection; messages that are queued before it keep their order. */
export const sendConnection = (child: ChildProcess, message: object, handle: SendHandle): void => {
  const childWithQueue = child as ChildWithQueue
  if (childWithQueue._handleQueue?.length === 0) childWithQueue._handleQueue = null
  child.send(message, handle)
}
