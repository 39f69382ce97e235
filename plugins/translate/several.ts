/** One request in several calls, where a target gives less in one than was asked for: all of it is one answer, or none is. */
import type { Attempt, Headers, Reply } from '../../engine/plugin.ts'
import { fault } from '../conversion/faults.ts'
import type { Send } from '../conversion/fetching.ts'
import { abandon } from '../conversion/refusal.ts'
import type { Drawing, Sent } from '../formats/codec.ts'
import { isFields, parsed } from '../formats/fields.ts'

/** Ten images of the largest size in base64. */
const LIMIT = 256 * 1024 * 1024
export const JSON_TYPE: Headers = { 'content-type': 'application/json' }

export const bytesOf = ({ body }: Sent): Uint8Array =>
  body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body))

/** Asked once the first call was granted: what is refused, is refused once. Returns the answers to all of them, or the
 *  first refusal. */
export const askRest = async (
  { exchange, target, reply }: Attempt,
  more: readonly Sent[],
  headers: Headers | undefined,
  host: Send,
): Promise<{ readonly replies: readonly Reply[]; readonly refused?: Reply }> => {
  const asked = await Promise.allSettled(
    more.map(sent =>
      host.send(target.upstream, {
        ...{ method: 'POST', path: sent.path, body: bytesOf(sent), signal: exchange.signal },
        headers: { ...JSON_TYPE, ...headers, ...sent.headers },
      }),
    ),
  )
  const replies = asked.flatMap(each => (each.status === 'fulfilled' ? [each.value] : []))
  const failed = asked.find(each => each.status === 'rejected')
  const refused = replies.find(({ status }) => status >= 300)
  if (!failed && !refused) return { replies: [reply, ...replies] }
  await Promise.all([reply, ...replies].filter(each => each !== refused).map(abandon))
  if (!refused) throw failed?.reason
  return { replies: [], refused }
}

/** As if one call had given it. `format`: what it should have been. */
export const together = async (
  attempt: Attempt,
  replies: readonly Reply[],
  join: Drawing['join'],
  format: string,
): Promise<Reply> => {
  const bodies = await Promise.all(
    replies.map(async each => parsed(Buffer.from(await each.bytes(LIMIT)).toString())),
  )
  if (!bodies.every(isFields)) throw fault('UPSTREAM_UNREADABLE', [format])
  return attempt.answer(200, join(bodies), { ...attempt.reply.headers, ...JSON_TYPE })
}
