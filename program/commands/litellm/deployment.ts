/** Reads one entry of `model_list`: its upstream, its name there, price and limits. */
import type { Json } from '../../../engine/plugin.ts'
import { modelName, usd } from '../starter/texts.ts'
import type { LitellmSource, Path } from './source.ts'

/** providers.yaml. */
export interface Tables {
  readonly providers: Readonly<Record<string, Provider>>
  /** Pattern of a name without a provider -> provider. */
  readonly names: Readonly<Record<string, string>>
  readonly reasons: Readonly<Record<string, string>>
}
interface Provider {
  readonly preset: string
  /** What follows `api_base`. */
  readonly base?: string
  /** Members of `litellm_params` for the region and the project. */
  readonly region?: string
  readonly project?: string
  /** The plugin that signs. */
  readonly credentials?: string
}
export interface Deployment {
  /** Its name for clients. */
  readonly name: string
  readonly provider: string
  /** Its name at the upstream. */
  readonly model: string
  readonly upstream: { readonly [key: string]: Json }
  /** Further options of the model. */
  readonly options: { readonly [key: string]: Json }
  readonly weight: number | undefined
  /** Per minute. */
  readonly requests: number | undefined
  readonly tokens: number | undefined
}

export const readDeployment = (
  source: LitellmSource,
  index: number,
  tables: Tables,
): Deployment | undefined => {
  const at: Path = ['model_list', index]
  const params = (key: string): Path => [...at, 'litellm_params', key]
  const name = source.text([...at, 'model_name'])
  const target = source.text(params('model'))
  const modelAt = target === undefined ? undefined : providerOf(target, tables)
  if (name === undefined || target === undefined || !modelAt) {
    source.note(
      at,
      `no preset serves "${target ?? 'a model without a name'}"; the model is left out`,
    )
    return undefined
  }
  const { provider, model } = modelAt
  source.take(params('custom_llm_provider'))
  return {
    name: modelName(name),
    provider: provider.preset,
    model,
    upstream: upstreamOf(source, params, provider),
    options: optionsOf(source, at),
    weight: source.number(params('weight')),
    requests: source.number(params('rpm')),
    tokens: source.number(params('tpm')),
  }
}

/** `azure/my-deployment`; a name without a provider is known by its beginning. */
const providerOf = (target: string, { providers, names }: Tables) => {
  const slash = target.indexOf('/')
  const prefix = target.slice(0, Math.max(0, slash))
  const named = Object.hasOwn(providers, prefix) ? providers[prefix] : undefined
  if (named) return { provider: named, model: target.slice(slash + 1) }
  const [, guess] =
    Object.entries(names).find(([pattern]) => new RegExp(pattern).test(target)) ?? []
  const provider = guess === undefined ? undefined : providers[guess]
  return provider && slash < 0 ? { provider, model: target } : undefined
}

/** `os.environ/NAME` is a variable; other texts stay, and `tollgate lint` names secrets. */
const variable = (text: string, fallback = ''): string =>
  text.startsWith('os.environ/') ? `\${${text.slice('os.environ/'.length)}:-${fallback}}` : text

const upstreamOf = (
  source: LitellmSource,
  params: (key: string) => Path,
  { preset, base = '', region, project, credentials }: Provider,
): Deployment['upstream'] => {
  const address = source.text(params('api_base')) ?? source.text(params('base_url'))
  const key = source.text(params('api_key'))
  const version = source.text(params('api_version'))
  const need = (member: string | undefined, fallback: string): string | undefined =>
    member === undefined ? undefined : variable(source.text(params(member)) ?? fallback, fallback)
  const [place, id] = [need(region, 'us-central1'), need(project, 'project')]
  if (credentials !== undefined && key === undefined)
    source.note(
      params('model'),
      `credentials of the cloud: add \`auth: { ${credentials}: … }\` to the upstream "${preset}" (docs/providers.md)`,
    )
  return {
    preset,
    ...(address !== undefined && { url: urlOf(address, base) }),
    // A preset that builds its address needs the name of the resource.
    ...(base !== '' && { resource: 'resource' }),
    ...(key !== undefined && { key: variable(key) }),
    ...(version !== undefined && { query: { 'api-version': variable(version, version) } }),
    ...(place !== undefined && { region: place }),
    ...(id !== undefined && { project: id }),
  }
}
/** Without the variable the sandbox answers. */
const urlOf = (address: string, base: string): string => {
  if (address.startsWith('os.environ/')) return variable(address, 'sandbox:')
  const url = address.replace(/\/+$/, '')
  return base !== '' && !url.endsWith(base) ? url + base : url
}

const MILLION = 1e6
const perMillion = (price: number): string => `${usd(price * MILLION)} USD / 1M`

/** Meters by the members of `model_info` and `litellm_params`. */
const PRICES: Readonly<Record<string, string>> = {
  input_cost_per_token: 'input',
  cache_read_input_token_cost: 'cached',
  cache_creation_input_token_cost: 'cache_write',
  output_cost_per_token: 'output',
}
/** Members of requests that have a default for the model. */
const DEFAULTS = ['temperature', 'top_p', 'max_tokens', 'seed']
const optionsOf = (source: LitellmSource, at: Path): Deployment['options'] => {
  const numberOf = (key: string): number | undefined => source.number([...at, 'model_info', key])
  const price: Record<string, string> = {}
  for (const [member, meter] of Object.entries(PRICES)) {
    const amount = numberOf(member) ?? source.number([...at, 'litellm_params', member])
    if (amount !== undefined) price[meter] = perMillion(amount)
  }
  const context = numberOf('max_input_tokens')
  const output = numberOf('max_output_tokens') ?? numberOf('max_tokens')
  const mode = source.text([...at, 'model_info', 'mode'])
  const isPriced = Object.keys(price).length > 0
  const defaults = Object.fromEntries(
    DEFAULTS.flatMap(name => {
      const value = source.number([...at, 'litellm_params', name])
      return value === undefined ? [] : [[name, value]]
    }),
  )
  if (!isPriced)
    source.note([...at, 'model_name'], 'no price is known: calls are free until you set `price`')
  return {
    ...(mode === 'embedding' && { traits: { formats: ['openai-embeddings'] } }),
    ...(context !== undefined && { context }),
    ...(output !== undefined && { output }),
    ...(isPriced ? { price } : { free: true }),
    ...(Object.keys(defaults).length > 0 && { defaults: { '*': defaults } }),
  }
}
