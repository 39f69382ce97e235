/** The plugin `auth`: extracts the credential of a request, looks up its account, and refuses invalid ones. */
import type { Exchange, Next, Plugin, Stage } from '../engine/plugin.ts'
import { configuredCurrency } from './billing/currency.ts'
import { exampleModel, modelsOf } from './catalogue/configured.ts'
import { commands } from './credentials/commands.ts'
import {
  type AuthOptions,
  type AuthRequirement,
  authRequirementOf,
  CREDENTIAL_HEADERS,
  type Mode,
  readerOf,
  removeQueryKey,
  removeSubprotocolKey,
} from './credentials/credential-extraction.ts'
import { Credentials, type Entry } from './credentials/credentials.ts'
import { FailedAuthLimiter } from './credentials/failed-auth-limiter.ts'
import { refusal } from './credentials/faults.ts'
import { bootstrap } from './credentials/first-run-bootstrap.ts'
import { claimedKind, type Kind } from './credentials/secret.ts'
import { migrations } from './credentials/tables.ts'
import { creditAccount } from './ledger/views/wallets.ts'
import { ACCOUNT } from './slots.ts'

const mode = {
  enum: ['key', 'query-key', 'system-token', 'none'],
  description:
    'key: an API key in a header (Authorization: Bearer or Token, x-api-key, x-goog-api-key, api-key, mj-api-secret, a realtime subprotocol); ' +
    'query-key: an API key as ?key=; system-token: a system token in Authorization, with or without Bearer; none: anyone',
}
const knownModes = { ...mode, enum: mode.enum.filter(each => each !== 'none') }
const anyOf = (one: object) => [one, { type: 'array', items: one, minItems: 1, uniqueItems: true }]
const KINDS: Readonly<Record<Mode, Kind | undefined>> = {
  key: 'key',
  'query-key': 'key',
  'system-token': 'system-token',
  none: undefined,
}
const NAMES: Readonly<Record<Kind, string>> = {
  key: 'an API key (sk-…)',
  'system-token': 'a system token (st-…)',
}

export default {
  schema: {
    description:
      'Who may call this route: one mode, or several of which any suffices; or modes and a role.',
    examples: ['key', ['key', 'query-key'], { by: 'system-token', role: 'admin' }],
    anyOf: [
      ...anyOf(mode),
      {
        type: 'object',
        description: 'Modes, and the role that the account must have.',
        required: ['role'],
        additionalProperties: false,
        properties: {
          by: {
            description: 'One mode, or several of which any suffices; key by default.',
            anyOf: anyOf(knownModes),
            examples: ['key', ['key', 'system-token']],
          },
          role: {
            description: 'customer: any account; admin: refuses others with 403.',
            type: 'string',
            enum: ['customer', 'admin'],
            examples: ['admin'],
          },
        },
        examples: [{ role: 'admin' }],
      },
    ],
  },
  credentialHeaders: CREDENTIAL_HEADERS,
  // A route without the option must not be open.
  default: 'key',
  migrations,
  commands,
  welcome: (host, { url }) =>
    bootstrap(host, {
      ...{ url, model: exampleModel(modelsOf(host)), currency: configuredCurrency(host).name },
      credit: (amount, at) =>
        creditAccount({ account: 1, kind: 'credit', amount, note: 'demo', at }),
    }),
  setup(options, host): Stage {
    const demand = authRequirementOf(options)
    const kinds = new Set(demand.modes.flatMap(each => KINDS[each] ?? []))
    if (kinds.size === 0) return {}
    const credentials = host.share(
      'accounts/credentials',
      '1',
      () => new Credentials(host.database),
    )
    const failedAuth = host.share('accounts/strangers', '1', () => new FailedAuthLimiter())
    return createStage(
      demand,
      kinds,
      { credentials, limiter: failedAuth },
      host.route.method === 'WS',
    )
  },
} satisfies Plugin<AuthOptions>

interface CredentialStores {
  readonly credentials: Credentials
  readonly limiter: FailedAuthLimiter
}
const createStage = (
  { modes, role }: AuthRequirement,
  kinds: ReadonlySet<Kind>,
  { credentials, limiter }: CredentialStores,
  isWebSocket: boolean,
): Stage => {
  const read = readerOf(modes)
  const optional = modes.includes('none')
  const [first = 'key'] = kinds
  /** The credential to look up; undefined: the caller has none. Throws AUTH_… where it is not acceptable. */
  const credentialOf = (exchange: Exchange): string | undefined => {
    const presented = read(exchange)
    if (presented === null) throw refusal('AUTH_AMBIGUOUS')
    if (presented === undefined) {
      if (optional) return undefined
      throw refusal('AUTH_MISSING', [first === 'key' ? 'sk-' : 'st-'])
    }
    const kind = claimedKind(presented)
    if (kind && !kinds.has(kind)) throw refusal('AUTH_KIND', [NAMES[first], NAMES[kind]])
    return presented
  }
  const lookUp = async (presented: string, exchange: Exchange, next: Next): Promise<void> => {
    const kind = claimedKind(presented) ?? first
    const { address } = exchange.request.client
    const found = await limiter.lookUp(address, suspected =>
      credentials.find(presented, kind, suspected),
    )
    admit(exchange, found)
    await next()
  }
  const admit = (exchange: Exchange, { account, refused, expires }: Entry): void => {
    if (refused === 'AUTH_UNKNOWN') throw limiter.countFailure(exchange.request.client.address)
    if (refused) throw refusal(refused)
    if (expires <= Date.now()) throw refusal('AUTH_EXPIRED')
    if (role === 'admin' && account?.role !== 'admin') throw refusal('AUTH_ROLE', [role])
    if (account) exchange.slots.set(ACCOUNT, account)
  }
  return {
    handle(exchange, next) {
      const presented = credentialOf(exchange)
      if (presented === undefined) return next()
      const known = credentials.cached(presented)
      if (!known) return lookUp(presented, exchange, next)
      admit(exchange, known)
      return next()
    },
    // Remove the client's key: the upstream has its own.
    ...((modes.includes('query-key') || isWebSocket) && {
      async forward({ request }, next) {
        if (modes.includes('query-key')) request.path = removeQueryKey(request.path)
        if (isWebSocket) removeSubprotocolKey(request.headers)
        await next()
      },
    }),
    explain: exchange => ({
      takes: modes,
      ...(role === 'admin' && { role }),
      given: describe(read(exchange)),
    }),
  }
}

const describe = (presented: string | null | undefined): string => {
  if (presented === null) return 'two that differ'
  return presented === undefined ? 'none' : NAMES[claimedKind(presented) ?? 'key']
}
