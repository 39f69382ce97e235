/** Converts a LiteLLM configuration into routes.yaml. Pure. */
import { isFields } from '../../../engine/kit.ts'
import type { Json } from '../../../engine/plugin.ts'
import { routesYaml } from '../starter/template.ts'
import { freeName } from '../starter/texts.ts'
import { type Deployment, readDeployment, type Tables } from './deployment.ts'
import { LitellmSource, type Note } from './source.ts'

export interface Conversion {
  readonly yaml: string
  readonly notes: readonly Note[]
}
type Fields = Record<string, Json>

/** `folder`: of the new file. */
export const convertLitellm = (text: string, tables: Tables, folder: string): Conversion => {
  const source = new LitellmSource(text)
  const list = source.peek(['model_list'])
  const deployments = (Array.isArray(list) ? list : []).flatMap(
    (_, index) => readDeployment(source, index, tables) ?? [],
  )
  const { upstreams, names } = upstreamsOf(deployments)
  const balance = balanceOf(source)
  const groups = Map.groupBy(deployments, ({ name }) => name)
  const models: Fields = {}
  for (const [name, members] of groups) models[name] = modelOf(members, names, balance)
  addFallbacks(source, models)
  addAliases(source, models)
  const limits = limitsOf(groups)
  const yaml = routesYaml({
    folder,
    currency: 'USD',
    remark: 'Made by `tollgate import litellm`.',
    upstreams,
    models,
    ...(Object.keys(limits).length > 0 && { limits: { models: limits } }),
    route: routeOf(source),
  })
  return { yaml, notes: source.notes(tables.reasons) }
}

/** One upstream for all deployments with the same address and credentials. */
const upstreamsOf = (deployments: readonly Deployment[]) => {
  const upstreams: Fields = {}
  const names = new Map<Deployment, string>()
  const byOptions = new Map<string, string>()
  for (const deployment of deployments) {
    const key = JSON.stringify(deployment.upstream)
    const known = byOptions.get(key)
    const name = known ?? freeName(deployment.provider, name => Object.hasOwn(upstreams, name))
    if (known === undefined) upstreams[name] = deployment.upstream
    byOptions.set(key, name)
    names.set(deployment, name)
  }
  return { upstreams, names }
}
/** Kinds of load balancing by their names in LiteLLM. */
const BALANCES: Readonly<Record<string, string>> = {
  'simple-shuffle': 'round-robin',
  'least-busy': 'least-busy',
}
const balanceOf = (source: LitellmSource): string => {
  const path = ['router_settings', 'routing_strategy']
  const strategy = source.text(path)
  const balance = strategy === undefined ? undefined : BALANCES[strategy]
  if (strategy !== undefined && balance === undefined)
    source.note(
      path,
      `"${strategy}" became least-busy, which picks the target with fewest requests`,
    )
  return balance ?? (strategy === undefined ? 'round-robin' : 'least-busy')
}

const modelOf = (
  members: readonly Deployment[],
  names: ReadonlyMap<Deployment, string>,
  balance: string,
): Json => {
  const targets = members.map(member => {
    const to = `${names.get(member)}/${member.model}`
    return member.weight === undefined ? to : { to, weight: member.weight }
  })
  const [first] = members
  const isWeighted = members.some(({ weight }) => weight !== undefined)
  const [only] = targets
  return {
    to: targets.length === 1 && typeof only === 'string' ? only : targets,
    ...(targets.length > 1 && { balance: isWeighted ? 'weighted' : balance }),
    ...first?.options,
  }
}

const addAliases = (source: LitellmSource, models: Fields): void => {
  const path = ['router_settings', 'model_group_alias']
  const aliases = source.peek(path)
  for (const [alias, value] of Object.entries(isFields(aliases) ? aliases : {})) {
    const group = isFields(value) ? value.model : value
    const model = models[String(group)]
    if (model === undefined) source.note([...path, alias], `there is no model "${group}"`)
    else {
      source.take([...path, alias])
      models[alias] = model
    }
  }
}

/** `fallbacks: [{ name: [other, …] }]`, in either section. */
const addFallbacks = (source: LitellmSource, models: Fields): void => {
  for (const section of ['litellm_settings', 'router_settings']) {
    const path = [section, 'fallbacks']
    const list = source.peek(path)
    for (const [index, each] of (Array.isArray(list) ? list : []).entries())
      for (const [name, others] of Object.entries(isFields(each) ? each : {})) {
        const at = [...path, index, name]
        const known = [others].flat().filter(other => Object.hasOwn(models, String(other)))
        const model = models[name]
        if (!isFields(model) || known.length === 0)
          source.note(at, 'a fallback and its model must both be in model_list')
        else {
          source.take(at)
          models[name] = { ...model, fallback: known }
        }
      }
  }
}

/** The limits of all deployments of a model together. */
const limitsOf = (groups: ReadonlyMap<string, readonly Deployment[]>): Fields => {
  const limits: Fields = {}
  for (const [name, members] of groups) {
    const sum = (key: 'requests' | 'tokens'): number | undefined =>
      members.every(member => member[key] !== undefined)
        ? members.reduce((total, member) => total + (member[key] ?? 0), 0)
        : undefined
    const [requests, tokens] = [sum('requests'), sum('tokens')]
    const limit = {
      ...(requests !== undefined && { requests: `${requests}/min` }),
      ...(tokens !== undefined && { tokens: `${tokens}/min` }),
    }
    if (Object.keys(limit).length > 0 && !/[*{]/.test(name)) limits[name] = limit
  }
  return limits
}

/** Retries and timeouts of all routes. */
const routeOf = (source: LitellmSource): { readonly [key: string]: Json } => {
  const first = (...paths: readonly string[][]): number | undefined =>
    paths.map(path => source.number(path)).find(value => value !== undefined)
  const retries = first(['router_settings', 'num_retries'], ['litellm_settings', 'num_retries'])
  const seconds = first(['router_settings', 'timeout'], ['litellm_settings', 'request_timeout'])
  return {
    ...(retries !== undefined && { retries: Math.min(10, retries) }),
    ...(seconds !== undefined && { timeout: { first_byte: `${seconds}s` } }),
  }
}
