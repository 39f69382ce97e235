/** What of `node:http` runs here. Imported by name, a built-in module is read whole, and what this one offers of WebSockets
 *  loads a client that nobody uses: 40 ms of CPU in every process of a gateway. */
export const {
  createServer,
  ServerResponse,
  STATUS_CODES,
  validateHeaderName,
  validateHeaderValue,
} = process.getBuiltinModule('node:http')
