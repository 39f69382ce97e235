/** Settings of the router and of the gateway: aliases, fallbacks, retries, timeouts, limits of
 *  keys, variables. */
import { isFields } from '../../../engine/kit.ts'
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isVariable, type LitellmSource, type Path } from './source.ts'
import type { UpstreamDefaults } from './upstream.ts'

/** The first of several settings with one meaning; the others are named. */
const first = (source: LitellmSource, paths: readonly Path[]): number | undefined => {
  let winner: number | undefined
  for (const path of paths) {
    const value = source.number(path)
    if (value !== undefined && winner !== undefined)
      source.note(path, `${paths[0]?.join('.')} wins`)
    else winner ??= value
  }
  return winner
}

export const upstreamDefaults = (source: LitellmSource): UpstreamDefaults => {
  const fails = first(source, [
    ['router_settings', 'allowed_fails'],
    ['litellm_settings', 'allowed_fails'],
  ])
  const isOff = source.flag(['router_settings', 'disable_cooldowns']) === true
  return {
    timeout: first(source, [
      ['router_settings', 'timeout'],
      ['litellm_settings', 'request_timeout'],
    ]),
    streamTimeout: source.number(['router_settings', 'stream_timeout']),
    failures: isOff ? NEVER : fails === undefined ? undefined : fails + 1,
    cooldown: source.number(['router_settings', 'cooldown_time']),
  }
}
/** The most failures that a configuration can allow. */
const NEVER = 1_000_000

/** Options of all routes. */
export const routeOf = (source: LitellmSource): Fields => {
  const path = ['router_settings', 'num_retries']
  const retries = first(source, [path, ['litellm_settings', 'num_retries']])
  const megabytes = source.number(['general_settings', 'max_request_size_mb'])
  if (retries !== undefined && retries > MOST_RETRIES)
    source.note(path, `at most ${MOST_RETRIES} retries: it became ${MOST_RETRIES}`)
  return {
    ...(retries !== undefined && { retries: Math.min(MOST_RETRIES, retries) }),
    ...(megabytes !== undefined && { body: { limit: `${Math.ceil(megabytes)}MiB` } }),
  }
}
const MOST_RETRIES = 10

export const addAliases = (
  source: LitellmSource,
  models: Record<string, Json>,
  isLimited: (name: string) => boolean,
): void => {
  const path = ['router_settings', 'model_group_alias']
  for (const [alias, value] of Object.entries(source.fields(path))) {
    const at = [...path, alias]
    const group = String(isFields(value) ? value.model : value)
    const model = models[group]
    const isHidden = isFields(value) && value.hidden === true
    if (!isFields(model)) source.note(at, `there is no model "${group}"`)
    else if (models[alias] !== undefined) source.note(at, 'a model has this name')
    else {
      source.take(at)
      // An alias shares limits with its model, and lists do not show it.
      const aliases = Array.isArray(model.aliases) ? model.aliases : []
      if (isHidden || isLimited(group)) models[group] = { ...model, aliases: [...aliases, alias] }
      else models[alias] = model
    }
  }
}

/** `fallbacks: [{ name: [other, …] }]` in either section, and those of every other model. */
export const addFallbacks = (source: LitellmSource, models: Record<string, Json>): void => {
  for (const section of ['router_settings', 'litellm_settings'])
    for (const [index, each] of source.list([section, 'fallbacks']).entries())
      for (const [name, others] of Object.entries(isFields(each) ? each : {}))
        addFallback(source, models, [section, 'fallbacks', index, name], [others].flat())
  for (const section of ['router_settings', 'litellm_settings']) {
    const path = [section, 'default_fallbacks']
    const others = knownIn(source, models, path, source.list(path))
    for (const [name, model] of Object.entries(models))
      if (
        isFields(model) &&
        model.fallback === undefined &&
        !others.includes(name) &&
        others.length > 0
      )
        models[name] = { ...model, fallback: others }
  }
}
const addFallback = (
  source: LitellmSource,
  models: Record<string, Json>,
  at: Path,
  others: readonly Json[],
): void => {
  const name = String(at.at(-1))
  const model = models[name]
  if (name === '*') {
    source.note(at, 'name the fallback at each model')
  } else if (!isFields(model)) source.note(at, `there is no model "${name}"`)
  else if (model.fallback !== undefined)
    source.note(at, 'the model has a fallback by another entry')
  else {
    const known = knownIn(source, models, at, others)
    if (known.length > 0) models[name] = { ...model, fallback: known }
  }
}
/** The names that are models; others are named. */
const knownIn = (
  source: LitellmSource,
  models: Record<string, Json>,
  path: Path,
  names: readonly Json[],
): readonly string[] =>
  names.flatMap((name, index) => {
    if (typeof name === 'string' && models[name] !== undefined) {
      source.take([...path, index])
      source.take(typeof source.peek(path) === 'string' ? path : [...path, index])
      return [name]
    }
    source.note(
      [...path, index],
      `there is no model "${isFields(name) ? 'with its own parameters' : name}"`,
    )
    return []
  })

const LIMITS: Readonly<Record<string, string>> = {
  rpm_limit: 'requests',
  tpm_limit: 'tokens',
  max_parallel_requests: 'concurrency',
}

/** Limits that keys and accounts have without their own. */
export const callerLimits = (source: LitellmSource): Record<string, Fields> => {
  const at = (place: string): Fields => {
    const limits = Object.entries(LIMITS).flatMap(([name, unit]) => {
      const value = source.number(['litellm_settings', place, name])
      if (value === undefined || value <= 0) return []
      return [[unit, unit === 'concurrency' ? value : `${value}/min`] as const]
    })
    return Object.fromEntries(limits)
  }
  const key = { ...at('upperbound_key_generate_params'), ...at('default_key_generate_params') }
  const account = { ...at('default_internal_user_params'), ...at('default_team_params') }
  return {
    ...(Object.keys(key).length > 0 && { key }),
    ...(Object.keys(account).length > 0 && { account }),
  }
}

/** `environment_variables`, for .env. */
export const addEnvironment = (source: LitellmSource, values: Map<string, string>): void => {
  for (const [name, value] of Object.entries(source.fields(['environment_variables']))) {
    const path = ['environment_variables', name]
    const isName = /^[A-Za-z_]\w*$/.test(name)
    if (!isName || isFields(value) || Array.isArray(value) || value === null)
      source.note(path, 'it is not a variable: NAME: value')
    else if (isVariable(String(value))) source.note(path, 'set it in the environment, or in .env')
    else values.set(name, String(source.take(path)))
  }
}
