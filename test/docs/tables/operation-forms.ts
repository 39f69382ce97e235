/** Writes plugins/console/client/operation-forms.json, the arguments of operations for the forms of
 *  the console, from the table of operations: `npm run docs`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import type { Json } from '../../../engine/plugin.ts'
import { membersOf, type Schema } from '../../../plugins/operator/http-arguments.ts'
import { endpointOf, type Operation } from '../../../plugins/operator/operation.ts'
import { OPERATIONS } from '../../../plugins/operator/table.ts'

const file = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url))
const PAGE = file('plugins/console/client/operation-forms.json')

/** `text`, `number`, `names`, or words with | between them. Undefined: no single field can show
 *  it. */
const kindOf = ({ type, enum: words, items }: Schema): string | undefined => {
  if (Array.isArray(words)) return words.filter(each => each !== null).join('|')
  const types = [type].flat()
  if (types.includes('string')) return 'text'
  if (types.includes('array') && (items as Schema).type === 'string') return 'names'
  return types.includes('integer') ? 'number' : undefined
}
const isNullable = ({ type, enum: words }: Schema): boolean =>
  [type].flat().includes('null') || (Array.isArray(words) && words.includes(null))
/** The members, and in place of `limits` its own: null removes each of them. */
const fieldsOf = (schema: Schema): readonly (readonly [string, Schema])[] =>
  Object.entries(membersOf(schema)).flatMap(([name, member]): (readonly [string, Schema])[] => {
    if (name !== 'limits') return [[name, member]]
    const limits = Object.entries(membersOf(member))
    return limits.map(([part, limit]) => [`limits.${part}`, orNull(limit)])
  })
const orNull = (schema: Schema): Schema => ({ ...schema, type: ['null', ...typesOf(schema)] })
const typesOf = ({ type }: Schema): readonly Json[] => (Array.isArray(type) ? type : [type ?? null])
/** `POST /api/admin/accounts name*=text role=customer|admin`; * if the argument is required, ? if
 *  null removes the setting. */
const formOf = ({ arguments: { schema } }: Operation, route: string, hidden: string[]): string => {
  const required = [(schema as Schema).required ?? []].flat()
  const fields = fieldsOf(schema as Schema).flatMap(([name, member]) => {
    const kind = kindOf(member)
    if (kind === undefined || hidden.includes(name.replace(/\..*/, ''))) return []
    const mark = required.includes(name) ? '*' : isNullable(member) ? '?' : ''
    return [`${name}${mark}=${kind}`]
  })
  return [route, ...fields].join(' ')
}
const routesByView = (): ReadonlyMap<string, string> => {
  const { routes } = parse(readFileSync(file('program/config/console.yaml'), 'utf8')) as {
    readonly routes: readonly { readonly path: string; readonly account?: string }[]
  }
  return new Map(routes.flatMap(({ path, account }) => (account ? [[account, path]] : [])))
}

/** Changes by the name of the operation, and for customers by the name of the view. */
export const operationForms = (): string => {
  const routes = routesByView()
  const forms = OPERATIONS.filter(({ reads }) => !reads).flatMap(operation => {
    const { name, scope, own = [] } = operation
    const [method, path] = endpointOf(operation).split(' ')
    const admin = formOf(operation, `${method} /api/admin/${path}`, [])
    const views = own.map(({ view, fixed = {}, without = [], inPath = '' }) => {
      const hidden = ['account', inPath, ...Object.keys(fixed), ...without]
      return [view, formOf(operation, routes.get(view) ?? '', hidden)] as const
    })
    return [...(scope === 'own' ? [] : [[name, admin] as const]), ...views]
  })
  return `${JSON.stringify(Object.fromEntries(forms), null, 2)}\n`
}

if (import.meta.main) writeFileSync(PAGE, operationForms())
