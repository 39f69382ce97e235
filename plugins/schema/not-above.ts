/** The custom keyword `notAbove`: one number of a body may not exceed another. JSON Schema compares
 *  with constants only. */
import type { FuncKeywordDefinition } from 'ajv'

type Pairs = Readonly<Record<string, string>>
interface Check {
  (body: unknown): boolean
  errors?: readonly object[]
}

/** Value: `{"thinking.budget_tokens": "max_tokens"}`; paths start at the object that the keyword
 *  validates. */
export const NOT_ABOVE = 'notAbove'
export const notAbove: FuncKeywordDefinition = {
  keyword: NOT_ABOVE,
  type: 'object',
  schemaType: 'object',
  errors: true,
  compile: (pairs: Pairs) => {
    const check: Check = body => {
      for (const [field, bound] of Object.entries(pairs)) {
        const [value, limit] = [memberOf(body, field), memberOf(body, bound)]
        if (typeof value !== 'number' || typeof limit !== 'number' || value <= limit) continue
        check.errors = [{ keyword: NOT_ABOVE, params: { field, bound, limit, value } }]
        return false
      }
      return true
    }
    return check as Check & { errors?: [] }
  },
}
const memberOf = (body: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (inside, key) => (inside as { readonly [key: string]: unknown } | null | undefined)?.[key],
      body,
    )
