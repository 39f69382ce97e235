/** Channels of new-api or one-api as upstreams, and their models with prices. Pure. */
import { isFields } from '../../../engine/kit.ts'
import type { Json } from '../../../engine/plugin.ts'
import type { PriceBook } from '../starter/price-book.ts'
import { freeName, modelName, variableName } from '../starter/texts.ts'
import { type CompletionRatios, priceOf, type Ratios } from './prices.ts'
import type { Report } from './report.ts'
import { jsonIn, listIn, numberIn, type TableRow, type Tables, textIn } from './source.ts'

type Fields = Record<string, Json>
interface ChannelType {
  readonly preset?: string
  readonly formats?: readonly string[]
  /** Where the type itself has no address, the channel has one. */
  readonly url?: string
  /** The path behind the address. */
  readonly path?: string
  /** `region`: the key has a region behind it. */
  readonly key?: string
}
/** channels.yaml. */
export interface ChannelTables extends CompletionRatios {
  readonly both: Readonly<Record<string, ChannelType>>
  readonly 'new-api': Readonly<Record<string, ChannelType>>
  readonly 'one-api': Readonly<Record<string, ChannelType>>
  readonly skipped: Readonly<Record<string, string>>
}
export interface Catalogue {
  readonly upstreams: Fields
  readonly models: Fields
  /** The keys of upstreams by the names of their variables. */
  readonly variables: ReadonlyMap<string, string>
}

interface Target {
  readonly to: string
  readonly priority: number
  readonly weight: number
}

export const catalogueOf = (
  tables: Tables,
  ratios: Ratios,
  types: ChannelTables,
  { report, book }: { readonly report: Report; readonly book: PriceBook },
): Catalogue => {
  const channels = tables.get('channels') ?? []
  const isNew = channels.some(row => 'setting' in row || 'channel_info' in row)
  const ofProduct = { ...types.both, ...types[isNew ? 'new-api' : 'one-api'] }
  const upstreams: Fields = {}
  const variables = new Map<string, string>()
  const targets = new Map<string, Target[]>()
  const listPrices = new Map<string, Fields>()
  for (const channel of channels) {
    const type = ofProduct[numberIn(channel.type)]
    const reason = reasonToLeave(channel, type)
    if (reason !== undefined || !type) {
      report.add('channels', reason ?? '', numberIn(channel.id))
      continue
    }
    const name = nameOf(channel, upstreams)
    upstreams[name] = upstreamOf({ name, channel, variables }, type, report)
    noteSettings(channel, report)
    for (const [model, to] of modelsOf(channel)) {
      const { priority, weight } = {
        priority: numberIn(channel.priority),
        weight: numberIn(channel.weight),
      }
      const listPrice = textIn(channel.base_url) === '' ? book.priceOf(type.preset, to) : undefined
      if (listPrice) listPrices.set(model, listPrice)
      targets.set(model, [...(targets.get(model) ?? []), { to: `${name}/${to}`, priority, weight }])
    }
  }
  const models: Fields = {}
  for (const [name, list] of targets) {
    const price = priceOf(name, ratios, types, { report, listPrice: listPrices.get(name) })
    if (price) models[modelName(name)] = { ...targetsOf(name, list, report), ...price }
  }
  return { upstreams, models, variables }
}

const reasonToLeave = (channel: TableRow, type: ChannelType | undefined): string | undefined => {
  if (numberIn(channel.status) !== 1) return 'switched off there'
  if (!type) return `no preset serves channels of type ${numberIn(channel.type)}`
  const isWord = /^[a-z-]+$/.test(textIn(channel.base_url))
  if (isWord) return `the plan "${textIn(channel.base_url)}" has no preset`
  if (!type.preset && !type.url && textIn(channel.base_url) === '') return 'it has no address'
  return undefined
}
/** Names of upstreams are letters, digits and hyphens. */
const nameOf = (channel: TableRow, upstreams: Fields): string => {
  const text = textIn(channel.name)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
  const base = /^[a-z]/.test(text) ? text : `channel-${numberIn(channel.id)}`
  return freeName(base, name => Object.hasOwn(upstreams, name), numberIn(channel.id))
}

interface Upstream {
  readonly name: string
  readonly channel: TableRow
  readonly variables: Map<string, string>
}
const upstreamOf = (upstream: Upstream, type: ChannelType, report: Report): Json => {
  const { name, channel, variables } = upstream
  const { preset, formats, path = '' } = type
  const address = (textIn(channel.base_url) || type.url)?.replace(/\/+$/, '')
  const keys = keysOf(channel, report)
  const [first = ''] = keys
  if (preset === 'bedrock') {
    if (keys.length > 1)
      report.add('channels', 'only its first key is carried', numberIn(channel.id))
    return bedrockOf(first, upstream, report)
  }
  const texts = keys.map((key, at) =>
    variableOf(name, keys.length > 1 ? at + 1 : 0, key, variables),
  )
  return {
    ...(preset !== undefined && { preset }),
    ...(address !== undefined && { url: address.endsWith(path) ? address : address + path }),
    ...(preset === undefined && formats && { formats: [...formats] }),
    ...(preset === 'azure' && {
      resource: 'resource',
      query: { 'api-version': textIn(channel.other) || '2024-10-21' },
    }),
    ...(texts.length > 0 && { key: texts.length === 1 ? (texts[0] ?? '') : texts }),
  }
}
/** Without those that are switched off. */
const keysOf = (channel: TableRow, report: Report): readonly string[] => {
  const text = textIn(channel.key)
  const { is_multi_key, multi_key_status_list } = jsonIn(channel.channel_info)
  if (is_multi_key !== true) return text === '' ? [] : [text]
  const statuses = isFields(multi_key_status_list) ? multi_key_status_list : {}
  return text.split('\n').flatMap((line, at) => {
    const key = line.trim()
    if (key === '' || (statuses[at] ?? 1) === 1) return key === '' ? [] : [key]
    report.add('channels', 'some of its keys are switched off', numberIn(channel.id))
    return []
  })
}
const variableOf = (
  upstream: string,
  number: number,
  key: string,
  variables: Map<string, string>,
): string => {
  const name = variableName(upstream, number)
  variables.set(name, key)
  return `\${${name}:-}`
}
/** `apikey|region` or `ak|sk|region`. */
const bedrockOf = (key: string, { name, channel, variables }: Upstream, report: Report): Json => {
  const parts = key.split('|')
  const region = parts.at(-1) ?? ''
  if (parts.length === 2)
    return { preset: 'bedrock', region, key: variableOf(name, 0, parts[0] ?? '', variables) }
  if (parts.length === 3) {
    const [id, secret] = [1, 2].map(at => variableOf(name, at, parts[at - 1] ?? '', variables))
    return {
      preset: 'bedrock',
      region,
      auth: { aws: { region, service: 'bedrock', id: id ?? '', secret: secret ?? '' } },
    }
  }
  report.add(
    'channels',
    'its credentials of AWS are not carried: add `region` and `key`',
    numberIn(channel.id),
  )
  return { preset: 'bedrock', region: 'us-east-1' }
}

/** Names for clients, and at the upstream; a mapping may lead to another one. */
const modelsOf = (channel: TableRow): readonly (readonly [string, string])[] => {
  const mapping = jsonIn(channel.model_mapping)
  return [...new Set(listIn(channel.models))].map(model => {
    let to = model
    for (const passed = new Set([model]); typeof mapping[to] === 'string'; passed.add(to)) {
      const next = String(mapping[to])
      if (next === '' || passed.has(next)) break
      to = next
    }
    return [model, to]
  })
}

/** High priorities first; within the only one, by weight. */
const targetsOf = (name: string, list: readonly Target[], report: Report): Fields => {
  const sorted = list.toSorted((a, b) => b.priority - a.priority || b.weight - a.weight)
  const [first] = sorted
  if (sorted.length === 1 && first) return { to: first.to }
  const isLevel = sorted.every(({ priority }) => priority === first?.priority)
  const isWeighted = sorted.some(({ weight }) => weight > 0)
  if (!isLevel) {
    if (isWeighted)
      report.add(
        'models',
        'weights within a priority are not carried: targets are asked in order',
        name,
      )
    return { to: sorted.map(({ to }) => to), balance: 'first' }
  }
  if (!isWeighted) return { to: sorted.map(({ to }) => to), balance: 'round-robin' }
  const used = sorted.filter(({ weight }) => weight > 0)
  if (used.length < sorted.length)
    report.add('models', 'channels of weight 0 beside others are never picked: left out', name)
  const [only] = used
  if (used.length === 1 && only) return { to: only.to }
  return { to: used.map(({ to, weight }) => ({ to, weight })), balance: 'weighted' }
}

const SETTINGS: Readonly<Record<string, string>> = {
  param_override: 'write `defaults` or `force` of the model',
  header_override: 'write `headers` of the upstream',
  status_code_mapping: 'statuses are those of the upstream',
  setting: 'its settings (proxy, system prompt, …) are not carried',
  openai_organization: 'write the header openai-organization at the upstream',
}
const noteSettings = (channel: TableRow, report: Report): void => {
  for (const [column, reason] of Object.entries(SETTINGS)) {
    const text = textIn(channel[column] ?? null)
    if (text !== '' && text !== '{}' && text !== 'null')
      report.add('channels', `${column} is not carried: ${reason}`, numberIn(channel.id))
  }
  const groups = listIn(channel.group).filter(group => group !== 'default')
  if (groups.length > 0)
    report.add(
      'channels',
      'groups are not carried: every key may use its models',
      numberIn(channel.id),
    )
}
