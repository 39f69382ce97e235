/** Shares keys, tokens and sign-in of the identity provider between all routes of a process. */
import type { HostBase } from '../../engine/plugin.ts'
import { shareLookups } from '../credentials/lookups.ts'
import { IdentityKeys } from './identity-keys.ts'
import { provisioningOf } from './provisioning.ts'
import { isAddress, sectionOf } from './section.ts'
import { type ClientSection, SignInClient } from './sign-in-client.ts'
import { Verifier } from './verifier.ts'

type Shared = Pick<
  HostBase,
  'section' | 'file' | 'request' | 'log' | 'share' | 'database' | 'folder'
>

/** Undefined without the section `identity:`. `client`: undefined without `client_id`. */
export const shareProvider = (host: Shared) => {
  const section = sectionOf(host)
  if (!section) return undefined
  const { credentials, limiter } = shareLookups(host)
  const { jwks, client_id } = section
  // Files are read with the configuration, which watches them.
  const text = jwks === undefined || isAddress(jwks) ? '' : host.file(jwks)
  // Members whom the provider deactivated must not come back by a token.
  const create = provisioningOf(host) ? 'nothing' : section.create
  const version = JSON.stringify([section, create, text])
  const { request, log } = host
  const start = () => {
    const verifier = new Verifier(section, { request, log, file: () => text })
    const keys = new IdentityKeys({ ...section, create }, credentials, host)
    const client =
      client_id === undefined
        ? undefined
        : new SignInClient(section as ClientSection, { request, log }, verifier.keys)
    return { verifier, keys, client }
  }
  return { section, limiter, ...host.share('identity/provider', version, start) }
}

/** The same with its client; undefined unless the gateway is one. */
export const shareClient = (host: Shared) => {
  const provider = shareProvider(host)
  const { client } = provider ?? {}
  return provider && client && { ...provider, client }
}
export type ProviderClient = NonNullable<ReturnType<typeof shareClient>>
