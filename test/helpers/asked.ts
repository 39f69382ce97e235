/** Sends one request through a connection pool and reads its whole response. */

import type { Pool } from '../../engine/http-client/pool.ts'
import type { Request } from '../../engine/http-client/request-head.ts'
import type { ResponseHeaders } from '../../engine/http-client/response-head.ts'

export interface PoolReply {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly body: string
}
const GET: Request = { method: 'GET', path: '/', headers: {}, body: undefined }

export const sendThroughPool = (pool: Pool, request: Partial<Request> = {}): Promise<PoolReply> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let head: Pick<PoolReply, 'status' | 'headers'> = { status: 0, headers: {} }
    pool.send(
      { ...GET, ...request },
      {
        over: false,
        onStart() {},
        onHead(status, headers) {
          head = { status, headers: { ...headers } }
        },
        onData: chunk => void chunks.push(chunk),
        onEnd(tail) {
          if (tail) chunks.push(tail)
          resolve({ ...head, body: Buffer.concat(chunks).toString('latin1') })
        },
        onError: reject,
      },
    )
  })
