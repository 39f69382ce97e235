/** Operations that write providers, models, prices and limits into the files of the configuration,
 *  and reads for their forms. */

import { textOf, UsageError } from '../../../engine/cli/kit.ts'
import { flag, integer, map, object, required, text } from '../../../engine/config/shape.ts'
import { isFields } from '../../../engine/kit.ts'
import type { HostBase, Json } from '../../../engine/plugin.ts'
import { modelsOf } from '../../catalogue/configured.ts'
import { CHANGE, OFFER_COLUMNS, PRESET_COLUMNS } from '../../rows/operations.ts'
import { list as listOf, object as row } from '../../shapes.ts'
import type { PresetRow } from '../../views.ts'
import { operatorParts } from '../contributions.ts'
import { fault } from '../faults.ts'
import { type Operation, operation } from '../operation.ts'
import { changeFile, EDIT_ARGUMENTS, EDIT_OPTIONS, editValues, printChange } from './file-change.ts'

type Fields = { readonly [key: string]: Json }
const NAME = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'
const MODEL_NAME = '^[^\\s,]{1,200}$'
const UPSTREAM = required(text('An upstream of the configuration.', { maxLength: 64 }))
const PRICE = { maxLength: 64, examples: ['2.50 USD / 1M'] }

// ---------------------------------------------------------------- providers

const presetsOf = (host: HostBase): Fields => host.section<Fields | undefined>('presets') ?? {}
const variableOf = (name: string): string => `${name.toUpperCase().replace(/\W/g, '_')}_API_KEY`
const presetRows = (host: HostBase): readonly PresetRow[] =>
  Object.entries(presetsOf(host)).map(([name, options]) => {
    const { title, needs, auth } = isFields(options) ? options : {}
    return {
      name,
      title: String(title ?? name),
      needs: (isFields(needs) ? needs : {}) as PresetRow['needs'],
      variable: auth === 'none' ? null : variableOf(name),
    }
  })

const presets = operation({
  name: 'config presets',
  summary: 'Lists the providers that an upstream can be made from.',
  scope: 'operator',
  reads: true,
  arguments: object(undefined, {}),
  result: listOf(row(PRESET_COLUMNS)),
  command: {
    example: 'tollgate config presets',
    print: rows => ({
      rows: rows.map(({ name, title, needs, variable }) => ({
        name,
        title,
        needs: Object.keys(needs).join(', '),
        key: variable ?? 'none',
      })),
      json: rows,
    }),
  },
  run: async ({ host }) => ({ data: presetRows(host) }),
})

const provider = operation({
  name: 'config provider',
  summary: 'Adds a provider to the upstreams, from a preset.',
  scope: 'operator',
  edits: true,
  arguments: object(undefined, {
    name: required(text('Its key in `upstreams:`.', { pattern: NAME })),
    preset: required(text('The name of a preset.', { maxLength: 64 })),
    variable: text(
      'The environment variable that has its key, also from .env; PRESET_API_KEY by default.',
      { pattern: '^[A-Za-z_][A-Za-z0-9_]{0,99}$' },
    ),
    url: text('Another address than that of the preset.', { maxLength: 500 }),
    values: map(
      'Values that the preset needs, such as a region.',
      text('A value.', { maxLength: 200 }),
      {
        maxProperties: 10,
      },
    ),
    ...EDIT_ARGUMENTS,
  }),
  result: CHANGE,
  command: {
    arguments: 'NAME PRESET',
    example: 'tollgate config provider deepseek deepseek',
    options: {
      variable: { type: 'string', value: 'NAME', summary: 'the environment variable of its key' },
      url: { type: 'string', value: 'URL', summary: 'another address' },
      set: { type: 'string', value: 'KEY=VALUE', multiple: true, summary: 'what the preset needs' },
      ...EDIT_OPTIONS,
    },
    read: ({ positionals: [name = '', preset = ''], values }) => ({
      name,
      preset,
      ...optional('variable', textOf(values.variable)),
      ...optional('url', textOf(values.url)),
      ...optional('values', pairsOf(values.set, '--set region=us-east-1')),
      ...editValues(values),
    }),
    print: printChange,
  },
  run: (context, { name, preset, variable, url, values = {}, ...edit }) => {
    const rows = presetRows(context.host)
    const known = rows.find(each => each.name === preset)
    if (!known) throw fault('PRESET_UNKNOWN', [preset, listed(rows.map(each => each.name))])
    const { needs } = known
    for (const [key, description] of Object.entries(needs))
      if (!values[key]) throw fault('PRESET_VALUE', [preset, key, description])
    for (const key of Object.keys(values))
      if (!Object.hasOwn(needs, key))
        throw fault('PRESET_VALUE_UNKNOWN', [preset, key, listed(Object.keys(needs))])
    const key = variable ?? known.variable
    const value = {
      preset,
      ...optional('url', url),
      ...(key !== null && { key: `\${${key}:-}` }),
      ...values,
    }
    return changeFile(context, edit, {
      changes: [{ path: ['upstreams', name], value }],
      isNew: true,
    })
  },
})
const listed = (names: readonly string[]): string =>
  names.length > 0 ? `there are ${names.join(', ')}` : NONE
const NONE = 'there are none; presets come with `include: [tollgate:presets.yaml]`'
const optional = <T>(name: string, value: T | undefined): { readonly [name: string]: T } =>
  value === undefined ? {} : { [name]: value }
/** `KEY=VALUE` texts. */
const pairsOf = (
  list: unknown,
  example: string,
): { readonly [key: string]: string } | undefined => {
  if (!Array.isArray(list)) return undefined
  const pairs = list.map(each => /^([^=]+)=(.*)$/.exec(String(each))?.slice(1))
  if (pairs.some(pair => !pair)) throw new UsageError(`write it like ${example}`)
  return Object.fromEntries(pairs as [string, string][])
}

// ---------------------------------------------------------------- models and prices

const targetsOf = (options: Json): readonly Json[] =>
  isFields(options) ? [options.to ?? []].flat() : []
const offers = operation({
  name: 'config offers',
  summary: 'Asks an upstream for its models, and marks those that the configuration has.',
  scope: 'operator',
  reads: true,
  arguments: object(undefined, { upstream: UPSTREAM }),
  result: listOf(row(OFFER_COLUMNS)),
  command: {
    arguments: 'UPSTREAM',
    example: 'tollgate config offers deepseek',
    print: rows => ({
      rows: rows.map(({ model, isConfigured }) => ({
        model,
        configured: isConfigured ? 'yes' : 'no',
      })),
      json: rows,
    }),
  },
  async run({ host }, { upstream }) {
    const { offeredModels } = operatorParts(host)
    if (!offeredModels) throw fault('NO_MODEL_LISTS')
    const names = await offeredModels(host, upstream)
    const models = Object.values(modelsOf(host))
    const targets = new Set(models.flatMap(targetsOf))
    return {
      data: names.map(model => ({ model, isConfigured: targets.has(`${upstream}/${model}`) })),
    }
  },
})
const PRICES = map(
  'Prices by meter: input, output, cached, images, seconds and others.',
  text('A price.', PRICE),
  {
    maxProperties: 30,
    propertyNames: { pattern: '^[a-z][a-z0-9_]{0,40}$' },
  },
)
const PRICE_OPTION = {
  type: 'string',
  value: 'METER=PRICE',
  multiple: true,
  summary: 'a price',
} as const
const PRICE_EXAMPLE = "--price 'input=2.50 USD / 1M'"

const model = operation({
  name: 'config model',
  summary: 'Adds a model of an upstream.',
  scope: 'operator',
  edits: true,
  arguments: object(undefined, {
    upstream: UPSTREAM,
    model: required(text('Its name at the provider.', { pattern: MODEL_NAME })),
    name: text('Its name for customers; that at the provider by default.', {
      pattern: MODEL_NAME,
    }),
    title: text('Its title in lists.', { maxLength: 200 }),
    prices: PRICES,
    free: flag('It costs nothing.'),
    ...EDIT_ARGUMENTS,
  }),
  result: CHANGE,
  command: {
    arguments: 'UPSTREAM MODEL',
    example: "tollgate config model deepseek deepseek-chat --price 'input=0.27 USD / 1M'",
    options: {
      name: { type: 'string', value: 'NAME', summary: 'another name for customers' },
      title: { type: 'string', value: 'TEXT', summary: 'its title in lists' },
      price: PRICE_OPTION,
      free: { type: 'boolean', summary: 'it costs nothing' },
      ...EDIT_OPTIONS,
    },
    read: ({ positionals: [upstream = '', name = ''], values }) => ({
      upstream,
      model: name,
      ...optional('name', textOf(values.name)),
      ...optional('title', textOf(values.title)),
      ...optional('prices', pairsOf(values.price, PRICE_EXAMPLE)),
      ...(values.free === true && { free: true }),
      ...editValues(values),
    }),
    print: printChange,
  },
  run: (context, { upstream, model: target, name = target, title, prices = {}, free, ...edit }) => {
    const hasPrice = Object.keys(prices).length > 0
    if (hasPrice === (free === true)) throw fault('MODEL_PRICE')
    const value = {
      to: `${upstream}/${target}`,
      ...optional('title', title),
      ...(hasPrice ? { price: prices } : { free: true }),
    }
    return changeFile(context, edit, {
      changes: [{ path: ['models', name], value }],
      isNew: true,
      near: `${upstream}/`,
    })
  },
})

const price = operation({
  name: 'config price',
  summary: 'Changes prices of a model.',
  scope: 'operator',
  edits: true,
  arguments: object(undefined, {
    model: required(text('A model of the configuration.', { pattern: MODEL_NAME })),
    prices: required(PRICES),
    ...EDIT_ARGUMENTS,
  }),
  result: CHANGE,
  command: {
    arguments: 'MODEL',
    example: "tollgate config price deepseek-chat --price 'input=0.27 USD / 1M'",
    options: { price: PRICE_OPTION, ...EDIT_OPTIONS },
    read: ({ positionals: [name = ''], values }) => ({
      model: name,
      prices: pairsOf(values.price, PRICE_EXAMPLE) ?? {},
      ...editValues(values),
    }),
    print: printChange,
  },
  run: (context, { model: name, prices, ...edit }) => {
    const entries = Object.entries(prices)
    if (entries.length === 0) throw fault('MODEL_PRICE')
    const changes = entries.map(([meter, value]) => {
      return { path: ['models', name, 'price', meter], value }
    })
    return changeFile(context, edit, { changes, within: ['models', name] })
  },
})

// ---------------------------------------------------------------- limits

const RATE = { pattern: '^[1-9][0-9]{0,8}/(s|min|h)$', examples: ['60/min'] }
const limit = operation({
  name: 'config limit',
  summary: 'Limits the calls of a route.',
  scope: 'operator',
  edits: true,
  arguments: object(undefined, {
    route: required(text('The name of a route.', { maxLength: 200 })),
    requests: text('Requests per second, minute or hour, of each key.', RATE),
    tokens: text('Tokens per second, minute or hour, of each key.', RATE),
    concurrency: integer('Requests at once, of each key.', { minimum: 1, maximum: 1_000_000 }),
    ...EDIT_ARGUMENTS,
  }),
  result: CHANGE,
  command: {
    arguments: 'ROUTE',
    example: 'tollgate config limit chat --requests 60/min --concurrency 5',
    options: {
      requests: { type: 'string', value: 'RATE', summary: 'such as 60/min' },
      tokens: { type: 'string', value: 'RATE', summary: 'such as 100000/min' },
      concurrency: { type: 'string', value: 'COUNT', summary: 'requests at once' },
      ...EDIT_OPTIONS,
    },
    read: ({ positionals: [route = ''], values }) => ({
      route,
      ...optional('requests', textOf(values.requests)),
      ...optional('tokens', textOf(values.tokens)),
      ...(values.concurrency !== undefined && { concurrency: Number(values.concurrency) }),
      ...editValues(values),
    }),
    print: printChange,
  },
  run: (context, { route: name, requests, tokens, concurrency, ...edit }) => {
    const route = context.host.gateway.routes.find(each => each.name === name)
    if (!route) throw fault('ROUTE_UNKNOWN', [name])
    const limits = { ...optional('requests', requests), ...optional('tokens', tokens) }
    const entries = Object.entries<Json>({ ...limits, ...optional('concurrency', concurrency) })
    if (entries.length === 0) throw fault('LIMIT_MISSING')
    const item = ['routes', { path: `${route.method} ${route.path}` }]
    return changeFile(context, edit, {
      changes: entries.map(([member, value]) => ({ path: [...item, 'limit', member], value })),
      within: item,
    })
  },
})

/** In the order of the help. */
export const configurationOperations: readonly Operation[] = [
  presets,
  provider,
  offers,
  model,
  price,
  limit,
]
