/** Ways in which clients hold a connection while sending almost nothing. */

export interface SlowClient {
  readonly start: string
  /** Text that is sent again and again; empty: none. */
  readonly piece: string
}
const POST = 'POST /s/json HTTP/1.1\r\nHost: x\r\n'

export const HEADS: Readonly<Record<string, SlowClient>> = {
  'nothing at all': { start: '', piece: '' },
  'a request line that never ends': { start: 'GET /s/', piece: 'a' },
  'a head that never ends': { start: 'GET /s/json HTTP/1.1\r\nHost: x\r\n', piece: 'X-A: b\r\n' },
}
/** The limit is ten seconds; test/engine/request/body-pace.test.ts shows the rule without
 *  waiting. */
export const BODIES: Readonly<Record<string, SlowClient>> = {
  'a body': {
    start: `${POST}Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n`,
    piece: ' ',
  },
  'a streamed body': {
    start: `${POST}Content-Type: video/mp4\r\nContent-Length: 100000\r\n\r\n`,
    piece: ' ',
  },
  'chunks of one byte': {
    start: `${POST}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    piece: '1\r\n \r\n',
  },
}
export const KINDS = { heads: HEADS, bodies: BODIES } as const
