/** The custom keyword `maxTotal`: the lists in the items of a list have at most so many members
 *  together. JSON Schema counts each list for itself. */
import type { FuncKeywordDefinition } from 'ajv'

type Totals = Readonly<Record<string, number>>
interface Check {
  (list: unknown): boolean
  errors?: readonly object[]
}

/** Value: `{"images": 7}`: the members `images` of all items have at most 7 members together. */
export const MAX_TOTAL = 'maxTotal'
export const maxTotal: FuncKeywordDefinition = {
  keyword: MAX_TOTAL,
  type: 'array',
  schemaType: 'object',
  errors: true,
  compile: (totals: Totals) => {
    const check: Check = list => {
      for (const [member, limit] of Object.entries(totals)) {
        const total = countMembers(list as readonly unknown[], member)
        if (total <= limit) continue
        check.errors = [{ keyword: MAX_TOTAL, params: { member, limit, total } }]
        return false
      }
      return true
    }
    return check as Check & { errors?: [] }
  },
}
const countMembers = (list: readonly unknown[], member: string): number =>
  list.reduce<number>((sum, item) => {
    const value = Object(item)[member] as unknown
    return sum + (Array.isArray(value) ? value.length : 0)
  }, 0)
