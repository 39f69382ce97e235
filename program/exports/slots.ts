/** `tollgate/slots`: the values that plugins exchange on a request, and the account of a name, and
 *  payments. */

export { ensureAccount } from '../../plugins/credentials/find.ts'
export { creditOnce } from '../../plugins/operator/operations/credits.ts'
export * from '../../plugins/slots.ts'
