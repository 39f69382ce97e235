/** An HTTP client for a gateway that may end at any moment; each reply records how far it came. */
import { Agent, request } from 'node:http'

export interface Reply {
  readonly status: number
  readonly id: string
  readonly retryAfter: string | undefined
  readonly text: string
  /** Whether the last byte arrived; of a stream, its last event. */
  readonly complete: boolean
  /** Milliseconds. */
  readonly duration: number
}
const LAST = 'data: [DONE]\n\n'

export const createClient = (url: string, key: string) => {
  const agent = new Agent({ keepAlive: true })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return {
    ask: (body: { readonly stream: boolean; readonly [member: string]: unknown }): Promise<Reply> =>
      new Promise(resolve => {
        const start = performance.now()
        const elapsed = (): number => performance.now() - start
        const lostReply = { status: 0, id: '', retryAfter: undefined, text: '', complete: false }
        const outgoing = request(url, { method: 'POST', agent, headers }, response => {
          let text = ''
          response.setEncoding('utf8').on('data', part => {
            text += part
          })
          response.on('close', () =>
            resolve({
              status: response.statusCode ?? 0,
              text,
              duration: elapsed(),
              complete: response.complete && (!body.stream || text.endsWith(LAST)),
              id: String(response.headers['x-request-id']),
              retryAfter: response.headers['retry-after'],
            }),
          )
          response.on('error', () => {})
        })
        outgoing.on('error', () => resolve({ ...lostReply, duration: elapsed() }))
        outgoing.end(JSON.stringify(body))
      }),
    close: () => agent.destroy(),
  }
}
