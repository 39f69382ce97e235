/** The endpoints of operators that the table of operations gives. */
import { argumentsIn, membersOf, type Schema } from '../../operator/http-arguments.ts'
import { type Actor, endpointOf, type Operation, runOperation } from '../../operator/operation.ts'
import { OPERATIONS } from '../../operator/table.ts'
import { fault } from '../faults.ts'
import { mayEdit } from '../section.ts'
import { type AdminCall, type AdminEndpoint, type AdminEndpoints, asJson } from './endpoint.ts'

const LISTENER = 'admin listener'
export const actorOf = ({
  actor,
  account,
  origin,
}: Pick<AdminCall, 'actor' | 'account' | 'origin'>): Actor => ({
  ...origin,
  via: actor === LISTENER ? LISTENER : 'admin API',
  name: actor,
  ...(account !== undefined && { account }),
})

const endpointFrom = (operation: Operation): AdminEndpoint => {
  const { name, summary, reads, result } = operation
  const schema = operation.arguments.schema as Schema
  const run: AdminEndpoint['run'] = async (call, host) => {
    if (operation.edits && !mayEdit(host)) throw fault('ADMIN_EDIT')
    const args = reads ? argumentsIn(call.query, schema, name, host) : call.body
    const caller = { host, actor: actorOf(call), keyUse: call.keyUse }
    const { data, next, changes } = await runOperation(operation, args, caller)
    return {
      data: asJson(data),
      ...(next !== undefined && { next }),
      ...(changes[0] && { change: changes[0] }),
    }
  }
  if (!reads) return { summary, body: schema, data: result, run }
  const query = Object.entries(membersOf(schema)).map(
    ([member, { description }]) => [member, String(description)] as const,
  )
  return { summary, query: Object.fromEntries(query), data: result, run }
}

const operations = OPERATIONS.filter(({ scope }) => scope !== 'own')
export const operationEndpoints: AdminEndpoints = Object.fromEntries(
  operations.map(operation => [endpointOf(operation), endpointFrom(operation)]),
)
/** Endpoints by their earlier names, which no list has. */
export const EARLIER_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  operations.flatMap(operation =>
    operation.earlier === undefined ? [] : [[operation.earlier, endpointOf(operation)]],
  ),
)
