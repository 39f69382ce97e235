/** Signs requests with the access token of their upstream. */
import { createHash } from 'node:crypto'
import { errors } from '../../engine/errors.ts'
import type { AuthHost, CredentialSigner, Headers, Sign } from '../../engine/plugin.ts'
import { AccessToken, type IssuedToken } from './access-token.ts'

const fault = errors({
  UPSTREAM_CREDENTIAL: [
    502,
    'The credential for the upstream %s cannot be renewed at present.',
    { retryable: true },
  ],
})

/** `identity`: what the token depends on; another one does not use the token so far. A call without
 *  a token fails before it is sent, and may be sent to another target. */
export const createTokenSigner = (
  { upstream, log, share }: AuthHost,
  identity: unknown,
  request: () => Promise<IssuedToken>,
): Required<CredentialSigner> => {
  const version = createHash('sha256').update(JSON.stringify(identity)).digest('hex')
  const token = share(`access token of ${upstream}`, version, () => new AccessToken())
  const issuer = {
    request,
    onFailure: ({ message: reason }: Error, hasToken: boolean) => {
      if (hasToken) log.warn({ upstream, reason }, 'the access token could not be renewed yet')
      else log.error({ upstream, reason }, 'no access token: calls to this upstream fail')
    },
  }
  const sign: Sign = ({ headers }) => {
    const value = token.get(issuer)
    if (typeof value === 'string') return setBearer(headers, value)
    return value.then(
      fresh => setBearer(headers, fresh),
      () => {
        throw fault('UPSTREAM_CREDENTIAL', [upstream])
      },
    )
  }
  const onRefused = ({ authorization }: Headers): boolean =>
    token.refuse(String(authorization).slice(SCHEME.length))
  return { sign, onRefused, key: version }
}

const SCHEME = 'Bearer '
const setBearer = (headers: Headers, token: string): void => {
  headers.authorization = SCHEME + token
}
