/** Sends one request to an address that the operator configured, such as that of an identity
 *  provider: no egress rules, no redirects, one connection per request. */
import type { SendToOperator } from '../plugin.ts'
import { openConnector } from './connector.ts'
import { sendMail } from './operator-mail.ts'

/** Most bytes of a response. */
const LIMIT = 1024 * 1024

/** `proxy`: that of an upstream. Loads undici at the first request. */
export const createOperatorRequest =
  (proxy?: string): SendToOperator =>
  async (url, { method, headers, body = null, timeout, direct }) => {
    const address = new URL(url)
    const signal = AbortSignal.timeout(timeout)
    const connection = { proxy: direct ? undefined : proxy || undefined }
    const connector = await openConnector(address, connection, timeout)
    const { Client } = await import('undici')
    const client = new Client(address.origin, {
      maxResponseSize: LIMIT,
      connect: (_, callback) => connector.connect(callback),
    })
    try {
      const path = address.pathname + address.search
      const {
        statusCode,
        headers: fields,
        body: reply,
      } = await client.request({
        method,
        path,
        headers,
        body,
        signal,
      })
      return { status: statusCode, headers: fields, text: await reply.text() }
    } finally {
      await client.destroy()
      connector.close()
    }
  }

/** Members of a host that reach servers of the operator. */
export const OPERATOR_ACCESS = { request: createOperatorRequest(), mail: sendMail }
