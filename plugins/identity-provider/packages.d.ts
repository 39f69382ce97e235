/** The members of jose that are used: the package is loaded at the first token, so that gateways
 *  without `identity:` never read it. */
declare module 'jose' {
  interface Header {
    readonly alg?: string
    readonly kid?: string
    readonly typ?: string
  }
  type FindKey = (header?: Header, token?: unknown) => Promise<CryptoKey>
  export function createLocalJWKSet(keys: { readonly keys: readonly object[] }): FindKey
  export function jwtVerify(
    token: string,
    key: FindKey,
    options: {
      readonly issuer: string
      readonly audience: readonly string[]
      readonly algorithms: readonly string[]
      readonly clockTolerance: number
      readonly requiredClaims: readonly string[]
    },
  ): Promise<{
    readonly payload: Readonly<Record<string, unknown>> & { readonly exp?: number }
    readonly protectedHeader: Header
  }>
}
