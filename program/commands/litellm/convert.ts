/** Converts a LiteLLM configuration into the parts of routes.yaml, and variables. */
import type { Json } from '../../../engine/plugin.ts'
import type { PriceBook } from '../starter/price-book.ts'
import type { Parts } from '../starter/template.ts'
import { freeName } from '../starter/texts.ts'
import { noteBudgets } from './budgets.ts'
import { type Deployment, readDeployments } from './deployment.ts'
import { type Group, limitsOf, modelsOf } from './groups.ts'
import { Variables } from './secrets.ts'
import {
  addAliases,
  addEnvironment,
  addFallbacks,
  callerLimits,
  routeOf,
  upstreamDefaults,
} from './settings.ts'
import { LitellmSource, type Note } from './source.ts'
import type { Tables } from './tables.ts'

export interface Conversion {
  readonly parts: Omit<Parts, 'folder'>
  /** Keys of upstreams and others, for .env. */
  readonly variables: ReadonlyMap<string, string>
  readonly notes: readonly Note[]
  /** Models whose price is that of the price book. */
  readonly listPrices: number
}

/** Pure. Throws for a text that is not YAML. */
export const convertLitellm = (text: string, tables: Tables, book: PriceBook): Conversion => {
  const source = new LitellmSource(text)
  const variables = new Variables(namesOfVariables(text))
  const reading = { source, tables, book, defaults: upstreamDefaults(source) }
  const all = source.list(['model_list']).flatMap((_, index) => readDeployments(reading, index))
  const listed = new Set(all.filter(({ isOfBook }) => !isOfBook).map(({ name }) => name))
  const deployments = all.filter(({ isOfBook, name }) => !isOfBook || !listed.has(name))
  const { upstreams, names } = upstreamsOf(deployments, variables)
  const groups = [...Map.groupBy(deployments, ({ name }) => name)].map(([name, members]) => ({
    name,
    members,
  }))
  const models = modelsOf(source, groups, names)
  notePrices(source, groups)
  const parallel = source.number(['router_settings', 'default_max_parallel_requests'])
  const limits = limitsOf(source, groups, parallel)
  addFallbacks(source, models)
  addAliases(source, models, name => Object.hasOwn(limits, name))
  const callers = callerLimits(source)
  noteBudgets(source)
  addEnvironment(source, variables.values)
  const hasLimits = Object.keys(limits).length > 0
  const parts = {
    currency: 'USD',
    remark: 'Made by `tollgate import litellm`.',
    upstreams,
    models,
    ...((hasLimits || Object.keys(callers).length > 0) && {
      limits: { ...callers, ...(hasLimits && { models: limits }) },
    }),
    route: routeOf(source),
  }
  const listPrices = groups.filter(({ members }) => isListPriced(members)).length
  return { parts, variables: variables.values, notes: source.notes(tables.reasons), listPrices }
}

const namesOfVariables = (text: string): readonly string[] =>
  Array.from(text.matchAll(/os\.environ\/(\w+)/g), ([, name = '']) => name)

/** One upstream for all deployments with the same address and credentials. */
const upstreamsOf = (deployments: readonly Deployment[], variables: Variables) => {
  const upstreams: Record<string, Json> = {}
  const names = new Map<Deployment, string>()
  const byOptions = new Map<string, string>()
  for (const deployment of deployments) {
    const key = JSON.stringify(deployment.upstream)
    const known = byOptions.get(key)
    const name = known ?? freeName(deployment.provider, each => Object.hasOwn(upstreams, each))
    if (known === undefined) upstreams[name] = variables.hideSecrets(name, deployment.upstream)
    byOptions.set(key, name)
    names.set(deployment, name)
  }
  return { upstreams, names }
}

const isListPriced = (members: readonly Deployment[]): boolean =>
  members.every(({ options }) => options.price === undefined) &&
  members.some(({ listPrice }) => listPrice !== undefined)

const notePrices = (source: LitellmSource, groups: readonly Group[]): void => {
  for (const { members } of groups) {
    const [first] = members
    const isPriced = members.some(each => each.options.price ?? each.listPrice)
    if (first && !isPriced)
      source.note(
        [...first.at, 'model_name'],
        first.isPattern
          ? 'models that the price book has not are free until you set `price`'
          : 'no price is known: calls are free until you set `price`',
      )
  }
}
