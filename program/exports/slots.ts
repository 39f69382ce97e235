/** `tollgate/slots`: the values that plugins exchange on a request, and the account of a name. */

export { ensureAccount } from '../../plugins/credentials/find.ts'
export * from '../../plugins/slots.ts'
