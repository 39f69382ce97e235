/** Which endpoints the admin listener can have: those of the engine, and the form of those that
 *  plugins add. */

/** No plugin can have these. */
export const ENDPOINTS = [
  'GET /-/',
  'GET /-/health',
  'GET /-/ready',
  'GET /-/config',
  'GET /metrics',
  'POST /-/reload',
  'POST /-/rollback',
] as const
export const ENDPOINT = /^(?:GET|POST|PUT|PATCH|DELETE) \/-\/[\w.~/-]+$/
