/** Which URLs may be told anything: https, public addresses, and what the operator opened. */
import { errors } from '../../engine/errors.ts'
import type { Lent } from '../../engine/plugin.ts'

const fault = errors({
  WEBHOOK_URL: [400, 'This webhook URL cannot be used: %s.', { param: 'url' }],
})

/** ms until the name of a receiver must be resolved. */
const RESOLVE_TIMEOUT = 3_000

/** The URL in its canonical spelling. Rejects with WEBHOOK_URL or what the engine has against it (EGRESS_…). */
export const admitAddress = async (
  text: string,
  { judge }: Pick<Lent, 'judge'>,
): Promise<string> => {
  const refused = refusalOf(text)
  if (refused) throw fault('WEBHOOK_URL', [refused])
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(fault('WEBHOOK_URL', ['its name could not be resolved in time'])),
    RESOLVE_TIMEOUT,
  )
  try {
    return await Promise.race([judge(text), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

const refusalOf = (text: string): string | undefined => {
  if (!URL.canParse(text)) return 'it is no URL'
  const { protocol, port } = new URL(text)
  if (protocol !== 'https:') return 'only https is spoken'
  // The engine lets it through for those who read files from there.
  return port === '80' ? 'port 80 is not open to webhooks' : undefined
}

/** For logs and lists: neither the path nor the query, where receivers keep their secrets. */
export const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : '')
