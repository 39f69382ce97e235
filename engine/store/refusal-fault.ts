/** Turns the refusal of a list into the fault that the caller of `write` receives. */
import { TollgateError } from '../errors.ts'
import type { Statement } from '../plugin.ts'
import { fault } from './faults.ts'
import type { Refusal } from './sqlite/frames.ts'

export const toFault = (refusal: Refusal, statements: readonly Statement[]): TollgateError => {
  const statement = statements[refusal.at]
  return FAULTS[refusal.kind](refusal, statement, statement?.sql.name ?? '?')
}

const FAULTS: Readonly<
  Record<
    Refusal['kind'],
    (refusal: Refusal, statement: Statement | undefined, name: string) => TollgateError
  >
> = {
  rows: ({ affectedRows }, statement, name) =>
    declaredFault(statement?.otherwise) ??
    fault('STORE_EXPECTATION', [name, affectedRows, statement?.rows ?? 'any']),
  violation(refusal, statement, name) {
    const code = declaredCode(refusal, statement)
    return declaredFault(code) ?? fault('STORE_VIOLATION', [name, refusal.names?.[0]])
  },
  statement: ({ message }, _statement, name) => fault('STORE_STATEMENT', [name, message]),
  migration: ({ message }) => fault('STORE_MIGRATION', [message]),
  unavailable: ({ message }) => fault('STORE_UNAVAILABLE', [], { cause: message }),
  unknown: ({ message }) => fault('STORE_UNKNOWN', [], { cause: message }),
}

/** The code that the statement gives to a violation; undefined: it expects none. */
export const declaredCode = (
  { names = [] }: Refusal,
  statement: Statement | undefined,
): string | undefined => {
  const name = names.find(each => statement?.violates?.[each] !== undefined)
  return name === undefined ? undefined : statement?.violates?.[name]
}
/** A fault with the code of the statement's owner. The owner's table has the message for clients.
 *  */
const declaredFault = (code: string | undefined): TollgateError | undefined =>
  code === undefined
    ? undefined
    : new TollgateError(code, 409, `The store refused the statements: ${code}`, { expose: false })
