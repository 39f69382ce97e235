/** Arguments of operations in requests of HTTP. */
import type { Fault, HostBase, Json } from '../../engine/plugin.ts'
import { validatorOf } from '../schema/compile.ts'
import { queryFault } from './faults.ts'

/** JSON Schema of the arguments. */
export type Schema = Readonly<Record<string, Json>>
export const membersOf = ({ properties }: Schema) =>
  (properties ?? {}) as Readonly<Record<string, Schema>>

/** The arguments in a query, whose values are texts. `where`: names the schema. Throws
 *  ADMIN_QUERY. */
export const argumentsIn = (
  query: URLSearchParams,
  schema: Schema,
  where: string,
  host: HostBase,
): Json => {
  const members = membersOf(schema)
  const entries = Object.entries(members).flatMap(([name, member]) => {
    const texts = query.getAll(name)
    if (texts.length > 1) throw queryFault(name, 'one value')
    const text = texts[0]?.trim() ?? ''
    return text === '' ? [] : [[name, valueIn(text, member)] as const]
  })
  const args: Json = Object.fromEntries(entries)
  const invalid = validatorOf(schema, where, host).validate(args)
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
  Array.isArray(words)
    ? words.join(', ')
    : String(description)
        .replace(/\.$/, '')
        .replace(/^(?:An?|The) /, article => article.toLowerCase())
