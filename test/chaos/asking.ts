/** Asks a gateway that may break off at any moment, and says what came of it. */
import { Agent, request } from 'node:http'

export interface Reply {
  readonly status: number
  readonly id: string
  readonly retryAfter: string | undefined
  readonly text: string
  /** To its last byte; a stream with its last event. */
  readonly whole: boolean
  /** ms it took. */
  readonly took: number
}
const LAST = 'data: [DONE]\n\n'

export const createAsking = (url: string, key: string) => {
  const agent = new Agent({ keepAlive: true })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return {
    ask: (body: { readonly stream: boolean; readonly [member: string]: unknown }): Promise<Reply> =>
      new Promise(resolve => {
        const began = performance.now()
        const took = (): number => performance.now() - began
        const lost = { status: 0, id: '', retryAfter: undefined, text: '', whole: false }
        const asking = request(url, { method: 'POST', agent, headers }, response => {
          let text = ''
          response.setEncoding('utf8').on('data', part => {
            text += part
          })
          response.on('close', () =>
            resolve({
              status: response.statusCode ?? 0,
              text,
              took: took(),
              whole: response.complete && (!body.stream || text.endsWith(LAST)),
              id: String(response.headers['x-request-id']),
              retryAfter: response.headers['retry-after'],
            }),
          )
          response.on('error', () => {})
        })
        asking.on('error', () => resolve({ ...lost, took: took() }))
        asking.end(JSON.stringify(body))
      }),
    close: () => agent.destroy(),
  }
}
