/** The parts of `node:http` that run here. A named import evaluates every export, and the WebSocket
 *  export loads an unused client: 40 ms of CPU in every process. */
const http = process.getBuiltinModule('node:http')
export const {
  createServer,
  ServerResponse,
  STATUS_CODES,
  validateHeaderName,
  validateHeaderValue,
} = http

/** A request whose `headers` has what Node itself reads: `expect`, and all headers of an upgrade.
 *  Node's own `headers` would parse all of them a second time, beside `readHead`. */
export class ServerRequest extends http.IncomingMessage {}
Object.defineProperty(ServerRequest.prototype, 'headers', {
  get(this: InstanceType<typeof ServerRequest> & { readonly upgrade?: boolean }) {
    if (this.upgrade) return Reflect.get(http.IncomingMessage.prototype, 'headers', this)
    const { rawHeaders } = this
    for (let at = 0; at + 1 < rawHeaders.length; at += 2)
      if (isExpect(rawHeaders[at] as string)) return { expect: rawHeaders[at + 1] }
    return WITHOUT_EXPECT
  },
})
const WITHOUT_EXPECT = { expect: undefined }
const isExpect = (name: string): boolean => name.length === 6 && name.toLowerCase() === 'expect'
