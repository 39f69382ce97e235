/** Plugin `scim`: provisioning of members by an identity provider (SCIM 2.0, RFC 7643 and 7644). */
import { hash, timingSafeEqual } from 'node:crypto'
import { oneOf } from '../../engine/config/shape.ts'
import type { Exchange, Host, Json, Plugin, Stage } from '../../engine/plugin.ts'
import { recordRefusal, strangerOf } from '../action-log/refusals.ts'
import { shareLookups } from '../credentials/lookups.ts'
import {
  PROVISIONING,
  type Provisioning,
  provisioningOf,
} from '../identity-provider/provisioning.ts'
import { DOCUMENTS } from '../scim-protocol/discovery.ts'
import { fault } from '../scim-protocol/faults.ts'
import { any, integer, list, map, object, text } from '../shapes.ts'
import { Changes } from './changes.ts'
import { checkSection } from './check-section.ts'
import { HEADERS, serve, VIEWS } from './serve.ts'
import { migrations } from './tables.ts'

const ALL = [...Object.keys(VIEWS), ...Object.keys(DOCUMENTS)]
const resource = map(any)
const page = object({ schemas: list(text), totalResults: integer, Resources: list(resource) })

export default {
  schema: oneOf('What this route serves.', ALL, { type: 'string', examples: ['Users'] }).schema,
  sections: { scim: PROVISIONING.schema },
  migrations,
  // The plugin `auth` owns the tables of members.
  needs: ['auth'],
  check: checkSection,
  setup: (view, host): Stage => ({
    answers: true,
    handle: createHandler(view, host),
    describe: () => ({
      summary: `Provisioning by SCIM 2.0: ${view}`,
      responses: {
        'application/scim+json':
          Object.hasOwn(DOCUMENTS, view) || host.route.pattern.includes('{') ? resource : page,
      },
    }),
    explain: () => ({ view }),
  }),
} satisfies Plugin<string>

const digest = (value: string): Buffer => hash('sha256', value, 'buffer')
/** Throws SCIM_TOKEN, or AUTH_GUESSED after many failures. */
const authorize = (host: Host, { token }: Provisioning) => {
  const digests = token.map(digest)
  const { limiter } = shareLookups(host)
  return async (exchange: Exchange): Promise<void> => {
    const { headers, client } = exchange.request
    const presented = digest(/^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? '')
    if (digests.some(each => timingSafeEqual(each, presented))) return
    const refusal = limiter.countFailure(client.address)
    if (refusal.status === 429) throw refusal
    const reason = 'SCIM_TOKEN'
    const action = { operation: 'access refused', object: 'SCIM', reason, isKnown: false }
    await recordRefusal(host, { ...action, actor: strangerOf(exchange, 'SCIM') })
    throw fault(reason)
  }
}
const createHandler = (view: string, host: Host): NonNullable<Stage['handle']> => {
  const rules = provisioningOf(host)
  if (!rules)
    return () => {
      throw fault('SCIM_OFF')
    }
  const check = authorize(host, rules)
  const kind = Object.hasOwn(VIEWS, view) ? VIEWS[view as keyof typeof VIEWS] : undefined
  const document: Json | undefined = (DOCUMENTS as Readonly<Record<string, Json>>)[view]
  return async exchange => {
    await check(exchange)
    if (kind) await serve(kind, host, exchange, new Changes(host, rules, exchange))
    else exchange.answer(200, Buffer.from(JSON.stringify(document)), HEADERS)
  }
}
