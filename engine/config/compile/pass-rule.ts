/** Compiles which headers of a client pass to an upstream. */
import type { Headers } from '../../plugin.ts'
import {
  connectionNames,
  HOP_BY_HOP,
  memoizeByName,
  type RequestHeaders,
  setOf,
} from '../../response/headers.ts'

/** Headers that always pass. The operator lists further ones: an allow list misses no secret. */
const PASS_UP = 'accept accept-language content-type user-agent range idempotency-key'
/** Never sent upstream, also if an operator lists them: client credentials, headers between
 *  client and gateway, and the client's claims about its address. */
const NEVER_UP = setOf(
  HOP_BY_HOP,
  // `content-encoding`: bodies are sent inflated.
  'authorization cookie host content-length content-encoding expect accept-encoding ' +
    'forwarded x-real-ip x-client-ip true-client-ip cf-connecting-ip',
)
const mayPassUp = (name: string): boolean => !NEVER_UP.has(name) && !name.startsWith('x-forwarded-')

/** Compiles the rule of one upstream. `extra`: names, and prefixes that end in `*`. `credentials`:
 *  names, in lower case, that never pass. */
export const createPassRule = (
  extra: readonly string[],
  credentials: readonly string[] = [],
): ((headers: RequestHeaders) => Headers) => {
  const lower = extra.map(name => name.toLowerCase())
  const names = setOf(PASS_UP, ...lower.filter(name => !name.endsWith('*')))
  const prefixes = lower.filter(name => name.endsWith('*')).map(name => name.slice(0, -1))
  const credentialNames = new Set(credentials)
  const mayPass = memoizeByName(
    name =>
      mayPassUp(name) &&
      !credentialNames.has(name) &&
      (names.has(name) || prefixes.some(prefix => name.startsWith(prefix))),
  )
  return headers => {
    const output: Headers = {}
    const hopNames = connectionNames(headers.connection)
    for (const name in headers)
      if (mayPass(name) && !hopNames?.has(name)) output[name] = headers[name] as string
    return output
  }
}
