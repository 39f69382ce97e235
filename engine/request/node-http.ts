/** The parts of `node:http` that run here. A named import evaluates every export of the built-in module, and its
 *  WebSocket export loads a client that is not used: 40 ms of CPU in every process. */
export const {
  createServer,
  ServerResponse,
  STATUS_CODES,
  validateHeaderName,
  validateHeaderValue,
} = process.getBuiltinModule('node:http')
