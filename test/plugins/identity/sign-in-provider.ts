/** A real provider at which people sign in, with the gateway as its client, and a browser without
 *  scripts that follows redirects. */
import type { RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import Provider from 'oidc-provider'
import type { SigningKeys } from './provider.ts'

export const CLIENT = { id: 'tollgate', secret: 'secret of the client' }
/** By `sub`. */
export const PEOPLE: Readonly<Record<string, object>> = {
  ann: { email: 'ann@acme.test', email_verified: true, groups: ['staff'], org: { id: 'acme' } },
  bob: { email: 'bob@acme.test', email_verified: true, groups: ['bosses'], org: { id: 'acme' } },
  eve: { email: 'eve@acme.test', email_verified: true, groups: ['guests'], org: { id: 'acme' } },
  root: { email: 'root@x.test', email_verified: true, groups: ['staff'], org: { id: 'admin' } },
}
/** The mapping of these claims, for the section `identity:`. */
const MAPPING = `\
  account: { claim: org.id }
  member: email
  role: { claim: groups, map: { bosses: admin, staff: member } }
`
/** The configuration of a gateway whose console is a client of the provider. `audience`: of tokens
 *  for its API; `more`: further keys of `identity:`; `routes`: its own routes. */
export const signInRoutes = (
  issuer: string,
  { audience = 'gateway', more = '', routes = ' []\n' } = {},
): string => `
include: [tollgate:console.yaml]
pipeline: [errors, observe, identity, auth, validate, limit, idempotency, meter, account, console, openapi, notify, sandbox]
identity:
  issuer: ${issuer}
  audience: ${audience}
  client_id: ${CLIENT.id}
  client_secret: ${CLIENT.secret}
${MAPPING}${more}
routes:${routes}`

interface Options {
  readonly keys: SigningKeys
  /** The address of the gateway. */
  readonly gateway: string
  /** Further metadata of the client. */
  readonly client?: object
}
export const signInProvider =
  ({ keys, gateway, client = {} }: Options) =>
  (issuer: string): RequestListener => {
    const provider = new Provider(issuer, {
      ...keys,
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          redirect_uris: [`${gateway}/api/session/callback`],
          post_logout_redirect_uris: [`${gateway}/console`],
          ...client,
        },
      ],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['groups', 'org'] },
      findAccount: (_: unknown, sub: string) => ({
        accountId: sub,
        claims: () => ({ sub, ...PEOPLE[sub] }),
      }),
      interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
      features: {
        devInteractions: { enabled: false },
        backchannelLogout: { enabled: true },
        rpInitiatedLogout: { logoutSource: askForLogout },
      },
      // Its own calls no address of this machine.
      fetch: (url: string, { method = 'GET', headers = {}, body }: RequestInit) =>
        fetch(url, { method, headers, ...(body && { body }) }),
      loadExistingGrant,
      cookies: { keys: ['a key of the test'] },
    })
    const callback = provider.callback()
    const login: RequestListener = async (request, response) => {
      if (request.method === 'GET') {
        response.setHeader('content-type', 'text/html')
        response.end(FORM)
        return
      }
      const accountId = new URLSearchParams(await text(request)).get('login') ?? ''
      const result = accountId === '' ? { error: 'access_denied' } : { login: { accountId } }
      await provider.interactionFinished(request, response, result, {})
    }
    return (request, response) =>
      request.url?.startsWith('/interaction/')
        ? login(request, response)
        : callback(request, response)
  }
const FORM = `<!doctype html><html lang="en"><title>Provider</title>
<form method="post"><label>Name <input name="login"></label><button>Sign in</button></form></html>`

const askForLogout = (context: { body: string }, form: string): void => {
  context.body = `<!doctype html><html lang="en"><title>Provider</title>${form}
<button form="op.logoutForm" name="logout" value="yes">Yes, sign out</button></html>`
}

interface GrantContext {
  readonly oidc: {
    readonly provider: {
      Grant: new (options: object) => { addOIDCScope(scope: string): void; save(): Promise<string> }
    }
    readonly client: { readonly clientId: string }
    readonly session: { readonly accountId: string }
  }
}
/** Nobody is parameters for consent. */
const loadExistingGrant = async ({ oidc }: GrantContext) => {
  const { clientId } = oidc.client
  const grant = new oidc.provider.Grant({ clientId, accountId: oidc.session.accountId })
  grant.addOIDCScope('openid profile email')
  await grant.save()
  return grant
}

export interface BrowserPage {
  readonly url: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
}
/** Keeps cookies by their host, and follows redirects until one leads to an address that `stop`
 *  accepts: that one is the result, not yet opened. */
export const createBrowser = () => {
  const jars = new Map<string, Map<string, string>>()
  const jarOf = (url: string) => {
    const { host } = new URL(url)
    const jar = jars.get(host) ?? new Map<string, string>()
    jars.set(host, jar)
    return jar
  }
  const request = async (url: string, init: RequestInit = {}): Promise<BrowserPage> => {
    const jar = jarOf(url)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...init.headers, ...(cookie && { cookie }) }
    const response = await fetch(url, { redirect: 'manual', ...init, headers })
    for (const each of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? []
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    const { status, headers: received } = response
    return { url, status, headers: received, text: await response.text() }
  }
  const open = async (
    url: string,
    { stop = () => false, ...init }: RequestInit & { stop?: (url: string) => boolean } = {},
  ): Promise<BrowserPage> => {
    const page = await request(url, init)
    const location = page.headers.get('location')
    if (page.status < 300 || page.status > 399 || location === null) return page
    const next = new URL(location, url).href
    return stop(next) ? { ...page, url: next } : open(next, { stop })
  }
  return {
    open,
    jarOf,
    /** Agrees to the question on the provider's page for logout, which is open. */
    async confirm({ url, text }: BrowserPage, stop?: (url: string) => boolean) {
      const xsrf = /name="xsrf" value="(\w+)"/.exec(text)?.[1] ?? ''
      const body = new URLSearchParams({ xsrf, logout: 'yes' })
      const address = `${new URL(url).origin}/session/end/confirm`
      return open(address, { method: 'POST', body, ...(stop && { stop }) })
    },
    /** From the button of the console to the address of the callback, which is not opened yet. */
    async authorize(gateway: string, person: string): Promise<string> {
      const isCallback = (url: string) => url.startsWith(`${gateway}/api/session/callback`)
      const page = await open(`${gateway}/api/session/provider`, { stop: isCallback })
      if (isCallback(page.url)) return page.url
      const body = new URLSearchParams({ login: person })
      return (await open(page.url, { method: 'POST', body, stop: isCallback })).url
    },
    async signIn(gateway: string, person: string): Promise<BrowserPage> {
      return open(await this.authorize(gateway, person))
    },
  }
}
/** The code of a refusal, which the page of the console explains. */
export const refusalIn = ({ url }: Pick<BrowserPage, 'url'>): string | null =>
  new URLSearchParams(new URL(url).hash.slice(1)).get('refused')
