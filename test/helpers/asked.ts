/** One request through a pool of connections, its answer whole. */

import type { Pool } from '../../engine/http-client/pool.ts'
import type { Request } from '../../engine/http-client/request-head.ts'
import type { AnswerHeaders } from '../../engine/http-client/response-head.ts'

export interface Asked {
  readonly status: number
  readonly headers: AnswerHeaders
  readonly body: string
}
const GET: Request = { method: 'GET', path: '/', headers: {}, body: undefined }

export const askPool = (pool: Pool, request: Partial<Request> = {}): Promise<Asked> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let head: Pick<Asked, 'status' | 'headers'> = { status: 0, headers: {} }
    pool.ask(
      { ...GET, ...request },
      {
        over: false,
        begun() {},
        head(status, headers) {
          head = { status, headers: { ...headers } }
        },
        data: chunk => void chunks.push(chunk),
        end(tail) {
          if (tail) chunks.push(tail)
          resolve({ ...head, body: Buffer.concat(chunks).toString('latin1') })
        },
        broke: reject,
      },
    )
  })
