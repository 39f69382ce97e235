/** Checks the URLs of receivers: the scheme, and a public address or one that the operator
 *  allowed. */
import { asFault, errors, TollgateError } from '../../engine/errors.ts'
import type { HostBase } from '../../engine/plugin.ts'

const fault = errors({
  WEBHOOK_URL: [400, 'This webhook URL cannot be used: %s.', { param: 'url' }],
})

/** ms until the name of a receiver must be resolved. */
const RESOLVE_TIMEOUT = 3_000

/** Returns the URL in canonical form. Rejects with WEBHOOK_URL, or an EGRESS_… code of the
 *  engine. */
export const admitAddress = async (
  text: string,
  { checkUrl }: Pick<HostBase, 'checkUrl'>,
  schemes: readonly string[] = ['https'],
): Promise<string> => {
  const problem = refusalOf(text, schemes)
  if (problem) throw fault('WEBHOOK_URL', [problem])
  const deadline = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => deadline.reject(fault('WEBHOOK_URL', ['its host name could not be resolved in time'])),
    RESOLVE_TIMEOUT,
  )
  try {
    return await Promise.race([checkUrl(text), deadline.promise])
  } catch (error) {
    const { code, status, message } = asFault(error)
    throw new TollgateError(code, status, message, { param: 'url' })
  } finally {
    clearTimeout(timer)
  }
}

const refusalOf = (text: string, schemes: readonly string[]): string | undefined => {
  if (!URL.canParse(text)) return 'it is not a valid URL'
  const { protocol, port } = new URL(text)
  if (!schemes.includes(protocol.slice(0, -1))) return `the scheme must be ${schemes.join(' or ')}`
  // The engine allows port 80 for reading files.
  return port === '80' ? 'port 80 is not allowed for webhooks' : undefined
}

/** The host for logs and lists: path and query may contain secrets. */
export const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : '')
