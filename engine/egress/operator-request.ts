/** Sends one request to an address that the operator configured, such as that of an identity
 *  provider: no egress rules, no redirects, one connection per request. */
import { Readable } from 'node:stream'
import type { SendToOperator } from '../plugin.ts'
import { decodeReply } from '../response/decoded-source.ts'
import { FilteredReply } from '../response/filters.ts'
import { responseHeaders } from '../response/headers.ts'
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
      const response = await client.request({ method, path, headers, body, signal })
      const fields = responseHeaders(response.headers)
      // The body is read before it is decoded: errors of the connection keep their names.
      const encoded = Readable.from([Buffer.from(await response.body.arrayBuffer())])
      const reply = decodeReply(
        new FilteredReply(response.statusCode, fields, encoded),
        address.host,
      )
      const bytes = await reply.bytes(LIMIT)
      const text = new TextDecoder().decode(bytes)
      return { status: reply.status, headers: reply.headers, bytes, text }
    } finally {
      await client.destroy()
      connector.close()
    }
  }

/** Members of a host that reach servers of the operator. */
export const OPERATOR_ACCESS = { request: createOperatorRequest(), mail: sendMail }
