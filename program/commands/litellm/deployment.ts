/** Reads one entry of `model_list`: its upstream, its name there, price and limits. */
import type { Json } from '../../../engine/plugin.ts'
import type { PriceBook } from '../starter/price-book.ts'
import { modelName } from '../starter/texts.ts'
import { priceOf } from './price.ts'
import type { Fields, LitellmSource, Path } from './source.ts'
import { matchIn, type Provider, type Tables } from './tables.ts'
import { type UpstreamDefaults, upstreamOf } from './upstream.ts'

export interface Deployment {
  readonly at: Path
  /** Its name for clients. */
  readonly name: string
  /** The name of its upstream. */
  readonly provider: string
  /** Its name at the upstream. */
  readonly model: string
  /** The price of the provider's list, if the deployment has none. */
  readonly listPrice: Fields | undefined
  readonly isPattern: boolean
  /** Whether only a pattern names it. */
  readonly isOfBook?: boolean
  readonly mode: string
  readonly upstream: Fields
  /** Formats that differ from those of the upstream. */
  readonly formats: readonly string[] | undefined
  /** Further options of the model. */
  readonly options: Fields
  readonly routing: Routing
}
export interface Routing {
  readonly order?: number | undefined
  readonly weight?: number | undefined
  /** Per minute. */
  readonly rpm?: number | undefined
  readonly tpm?: number | undefined
  readonly max_parallel_requests?: number | undefined
}

export interface Reading {
  readonly book: PriceBook
  readonly source: LitellmSource
  readonly tables: Tables
  readonly defaults: UpstreamDefaults
}

/** A deployment; before one whose name is a pattern, those of the models that the price book has.
 *  None, with a note, if nothing here serves it. */
export const readDeployments = (reading: Reading, index: number): readonly Deployment[] => {
  const { source, tables } = reading
  const at: Path = ['model_list', index]
  const own = (name: string): Path => [...at, 'litellm_params', name]
  const credential = credentialOf(source, own('litellm_credential_name'))
  const params = {
    source,
    at: (name: string): Path =>
      credential && source.peek(own(name)) === undefined ? [...credential, name] : own(name),
  }
  const name = source.text([...at, 'model_name'])
  const target = source.text(own('model'))
  const modelAt =
    target === undefined
      ? undefined
      : providerOf(target, source.text(own('custom_llm_provider')), tables)
  if (name === undefined || target === undefined || !modelAt) {
    source.note(
      at,
      `nothing here serves "${target ?? 'a model without a name'}"; the model is left out`,
    )
    return []
  }
  const { provider, providerName, model } = modelAt
  const mode = modeOf(reading, at, model)
  const formats = formatsOf(provider, mode, model, tables)
  const isAddressed = provider.preset ?? provider.url ?? source.peek(params.at('api_base'))
  if (formats === undefined || isAddressed === undefined) {
    const reason =
      formats === undefined
        ? `"${providerName}" has no route for the mode "${mode}" here`
        : 'it has no api_base'
    source.note(at, `${reason}; the model is left out`)
    return []
  }
  const base = source.text([...at, 'model_info', 'base_model'])
  const upstream = upstreamOf(params, provider, reading.defaults)
  const preset = upstream.preset === undefined ? undefined : provider.preset
  const deployment: Deployment = {
    at,
    name: modelName(name),
    provider: (provider.preset ?? providerName).replaceAll('_', '-'),
    model,
    listPrice: listPriceOf(reading.book, preset, [base, target]),
    isPattern: name.includes('*'),
    mode,
    upstream,
    formats: formats.length > 0 ? formats : undefined,
    options: optionsOf(reading, at, mode),
    routing: routingOf(source, own),
  }
  const { isPattern, options } = deployment
  const isPriced = !isPattern || options.price !== undefined || preset === undefined
  return isPriced
    ? [deployment]
    : [...modelsOfBook(reading, deployment, { ...provider, preset }), deployment]
}

/** The models of a provider that a pattern matches, each with its price. */
const modelsOfBook = (
  { book, tables }: Reading,
  pattern: Deployment,
  provider: Provider & { readonly preset: string },
): readonly Deployment[] => {
  const [before = '', after = ''] = pattern.model.split('*')
  return Object.entries(book.modelsOf(provider.preset)).flatMap(([model, listPrice]) => {
    if (!model.startsWith(before) || !model.endsWith(after)) return []
    const rest = model.slice(before.length, model.length - after.length)
    const mode = matchIn(tables.modes, model) ?? 'chat'
    const formats = formatsOf(provider, mode, model, tables)
    if (formats === undefined) return []
    return [
      {
        ...pattern,
        name: pattern.name.replace('*', rest),
        model,
        mode,
        listPrice,
        isPattern: false,
        isOfBook: true,
        formats: formats.length > 0 ? formats : undefined,
        routing: {},
      },
    ]
  })
}

/** By the model that it is based on, or its own. */
const listPriceOf = (
  book: PriceBook,
  preset: string | undefined,
  names: readonly (string | undefined)[],
): Fields | undefined =>
  names
    .map(name => (name === undefined ? undefined : book.priceOf(preset, name.replace(/^.*\//, ''))))
    .find(price => price !== undefined)

/** The path of its values. */
const credentialOf = (source: LitellmSource, path: Path): Path | undefined => {
  const name = source.text(path)
  if (name === undefined) return undefined
  const index = source
    .list(['credential_list'])
    .findIndex((_, each) => source.peek(['credential_list', each, 'credential_name']) === name)
  if (index >= 0) source.take(['credential_list', index, 'credential_name'])
  else source.note(path, 'credential_list has no such name')
  return index < 0 ? undefined : ['credential_list', index, 'credential_values']
}

/** `azure/my-deployment`; a name without a provider is known by its beginning. */
const providerOf = (target: string, custom: string | undefined, tables: Tables) => {
  const { same, names } = tables
  const providers: Readonly<Record<string, Provider | undefined>> = tables.providers
  const slash = target.indexOf('/')
  const prefix = target.slice(0, Math.max(0, slash))
  const known = (name: string): string => (Object.hasOwn(same, name) ? (same[name] ?? name) : name)
  const isNamed = Object.hasOwn(providers, known(prefix))
  const providerName = known(
    custom ?? (isNamed ? prefix : slash < 0 ? (matchIn(names, target) ?? '') : ''),
  )
  const provider = Object.hasOwn(providers, providerName) ? providers[providerName] : undefined
  if (!provider) return undefined
  const isPrefixed = isNamed && (custom === undefined || custom === prefix)
  const model = isPrefixed ? target.slice(slash + 1) : target
  const strip = provider.strip === undefined ? model : model.replace(new RegExp(provider.strip), '')
  return { provider, providerName, model: strip }
}

const modeOf = ({ source, tables }: Reading, at: Path, model: string): string =>
  source.text([...at, 'model_info', 'mode']) ?? matchIn(tables.modes, model) ?? 'chat'

/** Empty: those of the upstream. Undefined: no route serves the mode. */
const formatsOf = (
  { only, modes, families }: Provider,
  mode: string,
  model: string,
  tables: Tables,
): readonly string[] | undefined => {
  if (only?.includes(mode) === false) return undefined
  const family = matchIn(families ?? {}, model)
  if (family === false) return undefined
  const format = modes?.[mode] ?? tables.formats[mode] ?? family
  if (format !== undefined) return [format]
  return mode === 'chat' || mode === 'completion' ? [] : undefined
}

const routingOf = (source: LitellmSource, own: (name: string) => Path): Routing => {
  const number = (name: string) => source.number(own(name))
  return {
    order: number('order'),
    weight: number('weight'),
    rpm: number('rpm'),
    tpm: number('tpm'),
    max_parallel_requests: number('max_parallel_requests'),
  }
}

const optionsOf = ({ source, tables }: Reading, at: Path, mode: string): Fields => {
  const details: Path = [...at, 'model_info']
  const params: Path = [...at, 'litellm_params']
  const price = priceOf(source, [details, params], mode, tables)
  const context = source.number([...details, 'max_input_tokens'])
  const output =
    source.number([...details, 'max_output_tokens']) ?? source.number([...details, 'max_tokens'])
  const defaults = defaultsOf({ source, tables, at: params }, mode)
  return {
    ...(context !== undefined && { context }),
    ...(output !== undefined && { output }),
    ...(price && { price }),
    ...thinkingOf(source, [...params, 'thinking']),
    ...(Object.keys(defaults).length > 0 && { defaults }),
  }
}

const LEAST_THINKING = 1024
const thinkingOf = (source: LitellmSource, path: Path): Fields => {
  const budget = source.peek([...path, 'budget_tokens'])
  if (source.peek([...path, 'type']) !== 'enabled' || Number(budget) < LEAST_THINKING) return {}
  source.take([...path, 'type'])
  const tokens = source.number([...path, 'budget_tokens'])
  return tokens === undefined ? {} : { thinking: { budget: tokens } }
}

interface ParamsReading extends Pick<Reading, 'source' | 'tables'> {
  readonly at: Path
}
/** Members of requests by route, under their names there. */
const defaultsOf = ({ source, tables, at }: ParamsReading, mode: string): Fields => {
  const isChat = mode === 'chat' || mode === 'responses'
  const routes = Object.entries(tables.defaults).filter(([route]) => isChat === (route !== '*'))
  const defaults: Record<string, Json> = {}
  for (const [route, members] of routes) {
    const values = members.flatMap(member => {
      const [name = '', to = name] =
        typeof member === 'string' ? [member] : (Object.entries(member)[0] ?? [])
      const value = source.peek([...at, name])
      if (value === undefined || value === null) return []
      if (typeof value === 'object') {
        source.note([...at, name], 'a default is a text, a number, true or false')
        return []
      }
      return [[to, source.take([...at, name]) ?? null] as const]
    })
    if (values.length > 0) defaults[route] = Object.fromEntries(values)
  }
  return defaults
}
