/** Operations of customers on their sessions of the console. */
import { object } from '../../../engine/config/shape.ts'
import { OWN_SESSION } from '../../rows/accounts.ts'
import { list as listOf, type Shape as View } from '../../shapes.ts'
import { CURSOR, LIMIT } from '../arguments.ts'
import { revokeKey } from '../key-changes.ts'
import { KEY_NUMBER } from '../key-settings.ts'
import { findKey, viewFor } from '../keys.ts'
import { type Operation, operation } from '../operation.ts'
import { pageFor } from './key-forms.ts'

const listSessions = operation({
  name: 'sessions list',
  summary: 'Lists the console sessions of the account.',
  scope: 'own',
  reads: true,
  arguments: object(undefined, { limit: LIMIT, cursor: CURSOR }),
  result: listOf<unknown>(OWN_SESSION),
  own: [{ view: 'list-sessions' }],
  run: (context, page) => pageFor(context, { kind: 'session', account: context.own }, page),
})
const revokeSession = operation({
  name: 'sessions revoke',
  summary: 'Revokes a console session.',
  scope: 'own',
  arguments: object(undefined, { key: KEY_NUMBER }),
  result: OWN_SESSION as View,
  own: [{ view: 'revoke-session', inPath: 'key', access: 'read' }],
  async run(context, { key }) {
    await revokeKey(context, 'session', key)
    return { data: viewFor(context, 'session', await findKey(context, 'session', key)) }
  },
})
export const sessionOperations: readonly Operation[] = [listSessions, revokeSession]
