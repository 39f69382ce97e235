/** The answer of a call that ran as a task, as its row stores it: one of the task's results. */
import type { Json, Reply } from '../../../engine/plugin.ts'
import type { Task } from '../task.ts'

export type StoredReply = {
  readonly status: number
  readonly type: string
  /** The gateway's notes on the answer, such as members that it dropped. */
  readonly headers: Readonly<Record<string, string>>
  /** Text, or base64 if the type is not text. */
  readonly body: string
  readonly encoding: 'utf8' | 'base64'
}
const KEPT_HEADER = /^x-tollgate-(?:dropped|estimated|sandbox)$/
const TEXT_TYPE = /^(?:text\/|application\/(?:.*\+)?(?:json|xml))/i

/** Reads the whole answer. Rejects with a fault where it is larger than `largest` bytes. */
export const readReply = async (reply: Reply, largest: number): Promise<StoredReply> => {
  const bytes = Buffer.from(await reply.bytes(largest))
  const type = String(reply.headers['content-type'] ?? 'application/octet-stream')
  const encoding = TEXT_TYPE.test(type) ? 'utf8' : 'base64'
  const headers = Object.fromEntries(
    Object.entries(reply.headers).flatMap(([name, value]) =>
      KEPT_HEADER.test(name) ? [[name, String(value)]] : [],
    ),
  )
  return { status: reply.status, type, headers, body: bytes.toString(encoding), encoding }
}
/** Undefined where the call got no answer. */
export const storedReplyOf = ({ results }: Pick<Task, 'results'>): StoredReply | undefined =>
  results[0] as (Json & StoredReply) | undefined
