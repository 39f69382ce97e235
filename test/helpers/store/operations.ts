/** Runs operations of the table by their names. */
import type { Json } from '../../../engine/plugin.ts'
import { runOperation } from '../../../plugins/operator/operation.ts'
import { OPERATIONS } from '../../../plugins/operator/table.ts'

export const operationNamed = (name: string) => {
  const operation = OPERATIONS.find(each => each.name === name)
  if (!operation) throw new Error(`there is no operation ${name}`)
  return operation
}
type Caller = Omit<Parameters<typeof runOperation>[2], 'own'>
/** Resolves to its data. `own`: the account that calls; undefined: an operator. */
export const runAs = async <T>(
  { own, ...caller }: Caller & { readonly own?: number | undefined },
  name: string,
  args: object,
): Promise<T> => {
  const whole = { ...caller, ...(own !== undefined && { own }) }
  return (await runOperation(operationNamed(name), args as Json, whole)).data as T
}
