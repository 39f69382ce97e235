/** The parts of `node:http` that run here. A named import evaluates every export, and the WebSocket
 *  export loads an unused client: 40 ms of CPU in every process. */
export const {
  createServer,
  ServerResponse,
  STATUS_CODES,
  validateHeaderName,
  validateHeaderValue,
} = process.getBuiltinModule('node:http')
