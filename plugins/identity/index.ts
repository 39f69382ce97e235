/** Plugin `identity`: admits tokens (JWT) of an identity provider on routes with `auth: jwt`. Their
 *  calls are those of a key of the account and the member that the claims name. */
import { object } from '../../engine/config/shape.ts'
import { isFields, routesIn } from '../../engine/kit.ts'
import type { Document, Exchange, Host, Next, Plugin, Report, Stage } from '../../engine/plugin.ts'
import { readerOf, takesTokens } from '../credentials/credential-extraction.ts'
import { SECTION } from '../identity-provider/section.ts'
import { shareProvider } from '../identity-provider/share.ts'
import { ACCOUNT } from '../slots.ts'

const MODE = 'jwt'
/** Three parts; the signature of an unsigned token is empty. */
const TOKEN = /^eyJ[\w-]*\.[\w-]*\.[\w-]*$/

export default {
  schema: object(
    'Nothing to set: the section `identity:` names the identity provider.',
    {},
    { examples: [{}] },
  ).schema,
  default: {},
  before: ['auth'],
  // The plugin `auth` owns the tables of accounts.
  needs: ['auth'],
  sections: { identity: SECTION.schema },
  check: checkSection,
  setup: (_, host): Stage => createStage(host),
} satisfies Plugin<object>

/** Reports a section that no route uses, and a route without the section. */
function checkSection({ identity, pipeline, ...document }: Document, report: Report): void {
  const order = Array.isArray(pipeline) ? pipeline : []
  // A plugin of the operator may have this name.
  if (order.includes(MODE)) return
  if (!isFields(identity)) {
    for (const [index, { auth }] of routesIn(document as Document))
      if (order.includes('identity') && isMode(auth))
        report(
          ['routes', index, 'auth'],
          'IDENTITY_OPTION',
          '`auth: jwt` accepts no token without the section `identity:`',
        )
    return
  }
  if (!order.includes('identity'))
    report(
      ['identity'],
      'IDENTITY_OPTION',
      'no token is accepted: `pipeline:` has no `identity`; add it before `auth`',
    )
  else if (
    // `client_id` is for the sign-in to the console.
    identity.client_id === undefined &&
    !routesIn(document as Document).some(([, { auth }]) => isMode(auth))
  )
    report(
      ['identity'],
      'IDENTITY_OPTION',
      'no token is accepted: no route has the mode jwt; add it to a route, such as `auth: [key, jwt]`',
    )
  if (identity.role !== undefined && identity.member === undefined)
    report(['identity', 'role'], 'IDENTITY_OPTION', 'only members have roles; add `member:`')
  for (const name of ['client_secret', 'scopes'])
    if (identity[name] !== undefined && identity.client_id === undefined)
      report(['identity', name], 'IDENTITY_OPTION', 'it is of the sign-in; add `client_id:`')
}
const isMode = (auth: unknown): boolean =>
  [isFields(auth) ? auth.by : auth].flat().some(each => each === MODE)

const createStage = (host: Host): Stage => {
  const provider = takesTokens(host.route) ? shareProvider(host) : undefined
  if (!provider) return {}
  const { verifier, keys, limiter } = provider
  // Reads the keys at the start, so that the first call need not wait for the provider.
  if (!host.config.isTrial) void verifier.keys.refresh(Number.POSITIVE_INFINITY)
  const read = readerOf(['key'], false)
  const admit = async (token: string, exchange: Exchange, next: Next): Promise<void> => {
    const { identity } = await verifier.verify(token)
    const { address } = exchange.request.client
    const account =
      keys.findCached(identity) ?? (await limiter.lookUp(address, () => keys.find(identity)))
    exchange.slots.set(ACCOUNT, account)
    exchange.request.setCaller?.(String(account.id))
    await next()
  }
  return {
    describe: () => ({
      credentials: [
        { kind: 'token of the identity provider', in: 'header', name: 'authorization' },
      ],
    }),
    handle(exchange, next) {
      const token = read(exchange)
      return token && TOKEN.test(token) ? admit(token, exchange, next) : next()
    },
  }
}
