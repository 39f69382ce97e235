/** Converts a LiteLLM configuration into the parts of routes.yaml, and variables. */
import type { Json } from '../../../engine/plugin.ts'
import type { Parts } from '../starter/template.ts'
import { freeName } from '../starter/texts.ts'
import { noteBudgets } from './budgets.ts'
import { type Deployment, readDeployment } from './deployment.ts'
import { limitsOf, modelsOf } from './groups.ts'
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
}

/** Pure. Throws for a text that is no YAML. */
export const convertLitellm = (text: string, tables: Tables): Conversion => {
  const source = new LitellmSource(text)
  const variables = new Variables(namesOfVariables(text))
  const reading = { source, tables, defaults: upstreamDefaults(source) }
  const deployments = source
    .list(['model_list'])
    .flatMap((_, index) => readDeployment(reading, index) ?? [])
  const { upstreams, names } = upstreamsOf(deployments, variables)
  const groups = [...Map.groupBy(deployments, ({ name }) => name)].map(([name, members]) => ({
    name,
    members,
  }))
  const models = modelsOf(source, groups, names)
  notePrices(source, models, groups)
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
  return { parts, variables: variables.values, notes: source.notes(tables.reasons) }
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

const notePrices = (
  source: LitellmSource,
  models: Record<string, Json>,
  groups: readonly { readonly name: string; readonly members: readonly Deployment[] }[],
): void => {
  for (const { name, members } of groups) {
    const [first] = members
    if (first && (models[name] as { readonly free?: boolean }).free === true)
      source.note(
        [...first.at, 'model_name'],
        'no price is known: calls are free until you set `price`',
      )
  }
}
