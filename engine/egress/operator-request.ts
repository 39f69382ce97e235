/** Sends one request to an address that the operator configured, such as that of an identity
 *  provider: no egress rules, no redirects, one connection per request. */
import type { OperatorRequest, OperatorResponse } from '../plugin.ts'

/** Most bytes of a response. */
const LIMIT = 1024 * 1024

/** Rejects without a whole response in time. Loads undici at the first request. */
export const requestOperator = async (
  url: string,
  { method, headers, body, timeout }: OperatorRequest,
): Promise<OperatorResponse> => {
  const { Client } = await import('undici')
  const { origin, pathname, search } = new URL(url)
  const client = new Client(origin, { maxResponseSize: LIMIT, connect: { timeout } })
  const signal = AbortSignal.timeout(timeout)
  try {
    const path = pathname + search
    const response = await client.request({ method, path, headers, body: body ?? null, signal })
    return { status: response.statusCode, text: await response.body.text() }
  } finally {
    await client.destroy()
  }
}
