/** Plugin `auth`: extracts the credential of a request, looks up its account, and refuses invalid
 *  credentials. */
import type { Plugin, Stage } from '../../engine/plugin.ts'
import { startActionJobs } from '../action-log/jobs.ts'
import { AUTH, type AuthOptions } from '../credentials/auth-option.ts'
import {
  type AuthRequirement,
  authRequirementOf,
  CREDENTIAL_HEADERS,
  type Mode,
} from '../credentials/credential-extraction.ts'
import { shareLookups } from '../credentials/lookups.ts'
import type { Access } from '../credentials/members.ts'
import { changesKeys } from '../credentials/scopes.ts'
import type { Kind } from '../credentials/secret.ts'
import { migrations } from '../credentials/tables.ts'
import { PlaceRules } from '../zones/rule.ts'
import { checkModes } from './check-modes.ts'
import { authorizeOperator } from './operator.ts'
import { recordingAuthorizer, recordingRefusals } from './refused-operators.ts'
import { createAuthStage } from './stage.ts'

const KINDS: Readonly<Record<Mode, Kind | undefined>> = {
  key: 'key',
  'query-key': 'key',
  'system-token': 'system-token',
  session: 'session',
  none: undefined,
}

export default {
  schema: AUTH.schema,
  credentialHeaders: CREDENTIAL_HEADERS,
  // A route without the option must not be open.
  default: 'key',
  check: checkModes,
  authorizeOperator: recordingAuthorizer(authorizeOperator),
  migrations,
  // It owns the log of actions, whose work beside requests starts here.
  needs: ['actions'],
  // Loaded once in the life of a store.
  welcome: async (host, { url }) => (await import('../first-run/first-run.ts')).firstRun(host, url),
  setup(options, host): Stage {
    startActionJobs(host)
    const requirement = authRequirementOf(options)
    const isRead = host.route.method === 'GET'
    const kinds = new Set(requirement.modes.flatMap(mode => KINDS[mode] ?? []))
    if (kinds.size === 0 && requirement.plugins.length === 0) return {}
    const stage = createAuthStage({
      ...requirement,
      kinds,
      ...shareLookups(host),
      isWebSocket: host.route.method === 'WS',
      isRead,
      isOfKeys: changesKeys(host.route),
      access: accessOf(requirement, isRead),
      url: host.url,
      places: new PlaceRules(host.upstreams),
    })
    return requirement.role === 'admin' ? recordingRefusals(stage, host) : stage
  },
} satisfies Plugin<AuthOptions>

/** The rights that a route needs from members of a team. Routes of tokens and sessions are views of
 *  an account, which check it themselves. */
const accessOf = ({ modes, role }: AuthRequirement, isRead: boolean): Access | undefined => {
  if (role === 'admin') return isRead ? 'team' : 'manage'
  const isOfViews = modes.length > 0 && !modes.some(mode => KINDS[mode] === 'key')
  if (isOfViews) return undefined
  return isRead ? 'read' : 'use'
}
