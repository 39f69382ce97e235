/** `tollgate/slots`: the values that plugins exchange on a request. */
export * from '../plugins/slots.ts'
