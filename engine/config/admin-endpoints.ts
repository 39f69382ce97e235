/** Endpoints of the admin listener: those of the engine, and the form of those that plugins add. */

/** Endpoints of the engine, which no plugin can add. */
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
