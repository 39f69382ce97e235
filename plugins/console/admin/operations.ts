/** The endpoints of operators that the table of operations gives. */
import type { Fault, HostBase, Json } from '../../../engine/plugin.ts'
import { queryFault } from '../../operator/faults.ts'
import { type Actor, endpointOf, type Operation, runOperation } from '../../operator/operation.ts'
import { OPERATIONS } from '../../operator/table.ts'
import { validatorOf } from '../../schema/compile.ts'
import {
  type AdminCall,
  type AdminEndpoint,
  type AdminEndpoints,
  asJson,
  textIn,
} from './endpoint.ts'

type Schema = Readonly<Record<string, Json>>
const membersOf = ({ arguments: { schema } }: Operation) =>
  (schema.properties ?? {}) as Readonly<Record<string, Schema>>

const LISTENER = 'admin listener'
const actorOf = ({ actor, account }: AdminCall): Actor => ({
  via: actor === LISTENER ? LISTENER : 'admin API',
  name: actor,
  ...(account !== undefined && { account }),
})

/** The arguments in a query, which are texts. Throws ADMIN_QUERY. */
const argumentsIn = (query: URLSearchParams, operation: Operation, host: HostBase): Json => {
  const members = membersOf(operation)
  const entries = Object.entries(members).flatMap(([name, schema]) => {
    const text = textIn(query, name)
    return text === undefined ? [] : [[name, valueIn(text, schema)] as const]
  })
  const args: Json = Object.fromEntries(entries)
  const schema = operation.arguments.schema as Schema
  const invalid = validatorOf(schema, operation.name, host).validate(args)
  if (!invalid) return args
  const { param = '' } = invalid as Fault & { readonly param?: string }
  const member = members[param]
  throw member ? queryFault(param, expectationOf(member)) : invalid
}
const valueIn = (text: string, { type }: Schema): Json => {
  if (type === 'integer' && /^-?\d{1,15}$/.test(text)) return Number(text)
  if (type === 'boolean') return text === 'true' || text === 'yes'
  return text
}
const expectationOf = ({ enum: words, description }: Schema): string =>
  Array.isArray(words) ? words.join(', ') : String(description).replace(/\.$/, '')

const endpointFrom = (operation: Operation): AdminEndpoint => {
  const { summary, reads, result, arguments: shape } = operation
  const run: AdminEndpoint['run'] = async (call, host) => {
    const args = reads ? argumentsIn(call.query, operation, host) : call.body
    const { data, next, changes } = await runOperation(operation, args, {
      host,
      actor: actorOf(call),
    })
    return {
      data: asJson(data),
      ...(next !== undefined && { next }),
      ...(changes[0] && { change: changes[0] }),
    }
  }
  if (!reads) return { summary, body: shape.schema as Schema, data: result, run }
  const query = Object.entries(membersOf(operation)).map(
    ([name, { description }]) => [name, String(description)] as const,
  )
  return { summary, query: Object.fromEntries(query), data: result, run }
}

export const operationEndpoints: AdminEndpoints = Object.fromEntries(
  OPERATIONS.filter(({ scope }) => scope !== 'own').map(operation => [
    endpointOf(operation),
    endpointFrom(operation),
  ]),
)
