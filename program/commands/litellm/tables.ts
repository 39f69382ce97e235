/** The tables of providers.yaml: providers, modes, prices and settings of LiteLLM. */
export interface Tables {
  readonly providers: Readonly<Record<string, Provider>>
  readonly same: Readonly<Record<string, string>>
  /** Pattern of a name without a provider -> provider. */
  readonly names: Readonly<Record<string, string>>
  /** Pattern of a name -> mode. */
  readonly modes: Readonly<Record<string, string>>
  readonly formats: Readonly<Record<string, string>>
  readonly defaults: Readonly<Record<string, readonly (string | Record<string, string>)[]>>
  readonly prices: Readonly<Record<string, PriceMember>>
  /** By name without indexes. */
  readonly reasons: Readonly<Record<string, string>>
}
export interface Provider {
  readonly preset?: string
  readonly formats?: readonly string[]
  readonly url?: string
  readonly env?: string
  /** The path behind `api_base`. */
  readonly base?: string
  readonly host?: string
  readonly strip?: string
  /** Members of `litellm_params` for the region and the project. */
  readonly region?: string
  readonly project?: string
  /** The plugin that signs. */
  readonly credentials?: 'aws' | 'google'
  readonly only?: readonly string[]
  readonly modes?: Readonly<Record<string, string>>
  readonly families?: Readonly<Record<string, string | false>>
}
export interface PriceMember {
  readonly meter: string
  readonly per?: '1M' | '1k'
  readonly modes?: readonly string[]
  /** Of the prompt. */
  readonly above?: string
  readonly tier?: string
}

/** The value of the first pattern that matches. */
export const matchIn = <T>(patterns: Readonly<Record<string, T>>, text: string): T | undefined =>
  Object.entries(patterns).find(([pattern]) => new RegExp(pattern).test(text))?.[1]
