/** The dialect of a client, by the header that only its kind sends. Pure. */
import type { Request } from '../../engine/plugin.ts'
import type { DialectName } from './index.ts'

/** Undefined for clients of OpenAI's kind, whose credential all kinds may send. */
export const clientDialect = ({ headers }: Pick<Request, 'headers'>): DialectName | undefined => {
  if (headers['x-goog-api-key'] !== undefined) return 'google'
  return headers['anthropic-version'] === undefined ? undefined : 'anthropic'
}
