/** Splits one request into several upstream requests, where a target returns fewer results per
 *  request than the client asked for. All succeed and become one answer, or none does. */
import type { Attempt, Headers, Reply } from '../../engine/plugin.ts'
import { fault } from '../conversion/faults.ts'
import type { Send } from '../conversion/media-fetch.ts'
import { discardBody } from '../conversion/upstream-error.ts'
import { isFields, parseJson } from '../formats/fields.ts'
import type { ImageGeneration, UpstreamRequest } from '../formats/hub/codec.ts'

/** Ten images of the largest size in base64. */
export const BODY_LIMIT = 256 * 1024 * 1024
export const JSON_TYPE: Headers = { 'content-type': 'application/json' }

export const encodeBody = ({ body }: UpstreamRequest): Uint8Array =>
  body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body))

/** Sends the remaining requests after the first succeeded, so that a refusal costs one request.
 *  Returns all replies, or the first refusal. */
export const sendFollowUps = async (
  { exchange, target, reply }: Attempt,
  requests: readonly UpstreamRequest[],
  headers: Headers | undefined,
  host: Send,
): Promise<{ readonly replies: readonly Reply[]; readonly refusal?: Reply }> => {
  const outcomes = await Promise.allSettled(
    requests.map(request =>
      host.send(target.upstream, {
        method: 'POST',
        path: request.path,
        body: encodeBody(request),
        signal: exchange.signal,
        headers: { ...JSON_TYPE, ...headers, ...request.headers },
      }),
    ),
  )
  const replies = outcomes.flatMap(each => (each.status === 'fulfilled' ? [each.value] : []))
  const failure = outcomes.find(each => each.status === 'rejected')
  const refusal = replies.find(({ status }) => status >= 300)
  if (!failure && !refusal) return { replies: [reply, ...replies] }
  await Promise.all([reply, ...replies].filter(each => each !== refusal).map(discardBody))
  if (!refusal) throw failure?.reason
  return { replies: [], refusal }
}

/** Joins the answers into one reply. `format`: the format that they must have. */
export const joinReplies = async (
  attempt: Attempt,
  replies: readonly Reply[],
  join: ImageGeneration['joinAnswers'],
  format: string,
): Promise<Reply> => {
  const bodies = await Promise.all(
    replies.map(async each => parseJson(Buffer.from(await each.bytes(BODY_LIMIT)).toString())),
  )
  if (!bodies.every(isFields)) throw fault('UPSTREAM_UNREADABLE', [format])
  return attempt.answer(200, join(bodies), { ...attempt.reply.headers, ...JSON_TYPE })
}
