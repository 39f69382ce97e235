/** The views that the table of operations gives: each runs an operation for the account of its
 *  caller. */
import type { Exchange, Host, Json, RouteDescription } from '../../engine/plugin.ts'
import { accountFor } from '../credentials/members.ts'
import { checkPathId } from '../dialects/path-id.ts'
import { argumentsIn, membersOf, type Schema } from '../operator/http-arguments.ts'
import { type Operation, type OwnForm, originOf, runOperation } from '../operator/operation.ts'
import { OPERATIONS } from '../operator/table.ts'
import { validatorOf } from '../schema/compile.ts'
import { refuseOtherTypes } from '../schema/json-body.ts'
import { envelopeOf, json, nullable, query, text } from '../shapes.ts'
import { KEY_USE } from '../slots.ts'
import { answerSuccess, type ViewFactory } from './response.ts'

/** The arguments that a customer sends in the query or the body. */
const schemaOf = (operation: Operation, { fixed = {}, inPath, without = [] }: OwnForm): Schema => {
  const {
    required,
    properties: _,
    dependentRequired,
    ...schema
  } = operation.arguments.schema as Schema
  const hidden = ['account', ...Object.keys(fixed), ...without, ...(inPath ? [inPath] : [])]
  const members = Object.entries(membersOf(operation.arguments.schema as Schema))
  const visible = members.filter(([name]) => !hidden.includes(name))
  const names = (Array.isArray(required) ? required : []).filter(
    name => !hidden.includes(String(name)),
  )
  return {
    ...schema,
    ...(names.length > 0 && { required: names }),
    properties: Object.fromEntries(visible),
    ...(dependentRequired !== undefined &&
      Object.keys(dependentRequired as object).some(name => !hidden.includes(name)) && {
        dependentRequired,
      }),
  }
}
const hasMembers = (schema: Schema): boolean => Object.keys(membersOf(schema)).length > 0

const viewFrom =
  (operation: Operation, form: OwnForm): ViewFactory<Host> =>
  host => {
    const schema = schemaOf(operation, form)
    const { view, fixed = {}, inPath, status } = form
    const access = form.access ?? (operation.reads ? 'read' : 'manage')
    const argumentsOf = async ({ request }: Exchange): Promise<Json> => {
      if (operation.reads) return argumentsIn(request.query, schema, view, host)
      if (!hasMembers(schema)) return {}
      refuseOtherTypes(request)
      const body = await request.json()
      const invalid = validatorOf(schema, view, host).validate(body)
      if (invalid) throw invalid
      return body
    }
    return async exchange => {
      const account = accountFor(exchange, access)
      const { id, name, member } = account
      const args = (await argumentsOf(exchange)) as object
      const path = inPath === undefined ? {} : { [inPath]: numberIn(exchange) }
      const who = member ? `${member.name} of ${name}` : name
      const actor = { via: 'own account', name: who, ...originOf(exchange, account) } as const
      const keyUse = exchange.slots.get(KEY_USE)
      const caller = { host, actor, own: id, member, keyUse }
      const { data, next } = await runOperation(operation, { ...args, ...fixed, ...path }, caller)
      const page = next === undefined ? {} : { next }
      answerSuccess(exchange, { data: data as Json, ...page }, status)
    }
  }
/** The number in the path; 0, which nothing has, for another text. Throws ID_RANGE. */
export const numberIn = ({ params }: Exchange): number => {
  const text = checkPathId(Object.values(params)[0] ?? '')
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0
}

const descriptionOf = (operation: Operation, form: OwnForm): RouteDescription => {
  const schema = schemaOf(operation, form)
  const { summary = operation.summary, result = operation.result, status } = form
  const isList = (result as Schema).type === 'array'
  return {
    summary: summary.replace(/\.$/, ''),
    responses: json(envelopeOf(result, isList ? { next: nullable(text) } : {})),
    ...(status !== undefined && { status }),
    ...(operation.reads
      ? {
          parameters: Object.entries(membersOf(schema)).map(([name, { description, ...member }]) =>
            query(name, String(description), member),
          ),
        }
      : hasMembers(schema) && { body: json(schema) }),
  }
}

const forms = OPERATIONS.flatMap(operation =>
  (operation.own ?? []).map(form => ({ operation, form })),
)
export const operationViews: Readonly<Record<string, ViewFactory<Host>>> = Object.fromEntries(
  forms.map(({ operation, form }) => [form.view, viewFrom(operation, form)]),
)
export const operationDescriptions: Readonly<Record<string, RouteDescription>> = Object.fromEntries(
  forms.map(({ operation, form }) => [form.view, descriptionOf(operation, form)]),
)
