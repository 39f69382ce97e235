/** Headers of a client that a call forwards when it runs later: neither credentials nor framing. */
import type { Request } from '../../engine/plugin.ts'

const FORWARDED = /^(?:x-tollgate-strict|openai-.*|anthropic-.*|traceparent)$/

export const forwardedHeadersOf = ({
  headers,
}: Pick<Request, 'headers'>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && FORWARDED.test(entry[0]),
    ),
  )
