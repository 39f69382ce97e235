/** Deployments of one name become one model: its targets, balance, options and limits. */
import type { Json } from '../../../engine/plugin.ts'
import type { Deployment, Routing } from './deployment.ts'
import type { Fields, LitellmSource } from './source.ts'

const SHUFFLE = 'simple-shuffle'
/** Kinds of load balancing by their names in LiteLLM. Others become least-busy. */
const BALANCES: Readonly<Record<string, string>> = {
  [SHUFFLE]: 'round-robin',
  'least-busy': 'least-busy',
}
const STRATEGY = ['router_settings', 'routing_strategy']

export interface Group {
  readonly name: string
  readonly members: readonly Deployment[]
}

/** `names`: of the upstreams. */
export const modelsOf = (
  source: LitellmSource,
  groups: readonly Group[],
  names: ReadonlyMap<Deployment, string>,
): Record<string, Json> => {
  const strategy = source.text(STRATEGY) ?? SHUFFLE
  const models = Object.fromEntries(
    groups.map(group => [group.name, modelOf(source, group, names, strategy)] as const),
  )
  if (BALANCES[strategy] === undefined) {
    const balances = Object.entries(models).flatMap(([name, { balance }]) =>
      balance === undefined ? [] : [`${name} has ${String(balance)}`],
    )
    source.note(
      STRATEGY,
      `"${strategy}" is not known here: ${balances.join(', ') || 'no model has several targets'}`,
    )
  }
  return models
}

const modelOf = (
  source: LitellmSource,
  { members }: Group,
  names: ReadonlyMap<Deployment, string>,
  strategy: string,
): Fields => {
  const { used, balance, weightOf } = pickOf(source, members, strategy)
  const formats = new Set(members.map(each => JSON.stringify(each.formats)))
  const targets = used.map(member => {
    const to = `${names.get(member)}/${member.model}`
    const weight = weightOf(member)
    const traits = formats.size > 1 && member.formats ? { formats: [...member.formats] } : undefined
    return weight === undefined && !traits
      ? to
      : { to, ...(weight !== undefined && { weight }), ...(traits && { traits }) }
  })
  const [only] = targets
  const shared = formats.size === 1 ? members[0]?.formats : undefined
  return {
    to: targets.length === 1 && typeof only === 'string' ? only : targets,
    ...(targets.length > 1 && { balance }),
    ...(shared && { traits: { formats: [...shared] } }),
    ...optionsOf(source, members),
  }
}

/** LiteLLM shuffles by weight, rpm or tpm, whichever the first deployment has; one without is never
 *  picked. `order` comes before all. */
const pickOf = (source: LitellmSource, members: readonly Deployment[], strategy: string) => {
  const noWeight = (): number | undefined => undefined
  if (members.some(({ routing }) => routing.order !== undefined)) {
    const used = members.toSorted(
      (one, other) => (one.routing.order ?? 1) - (other.routing.order ?? 1),
    )
    noteWeights(source, members, '`order` decides, so weights do not count')
    return { used, balance: 'first', weightOf: noWeight }
  }
  const by = (['weight', 'rpm', 'tpm'] as const).find(key => members[0]?.routing[key] !== undefined)
  if (strategy !== SHUFFLE || by === undefined || members.length === 1) {
    noteWeights(
      source,
      members,
      members.length === 1 ? 'the model has one target' : `weights count with ${SHUFFLE} only`,
    )
    return { used: members, balance: BALANCES[strategy] ?? 'least-busy', weightOf: noWeight }
  }
  if (by !== 'weight')
    noteWeights(source, members, 'the first deployment has none, so weights do not count')
  const used = members.filter(({ routing }) => (routing[by] ?? 0) > 0)
  for (const { at, routing } of members)
    if ((routing[by] ?? 0) <= 0)
      source.note(
        [...at, 'litellm_params', by],
        `a deployment without ${by} beside others is never picked: it is left out`,
      )
  if (used.length < 2)
    return { used: used.length > 0 ? used : members, balance: 'first', weightOf: noWeight }
  return { used, balance: 'weighted', weightOf: ({ routing }: Deployment) => routing[by] }
}
const noteWeights = (
  source: LitellmSource,
  members: readonly Deployment[],
  reason: string,
): void => {
  for (const { at, routing } of members)
    if (routing.weight !== undefined) source.note([...at, 'litellm_params', 'weight'], reason)
}

/** Each option is that of the first deployment that has it; others that differ are named. */
const optionsOf = (source: LitellmSource, members: readonly Deployment[]): Fields => {
  const options: Record<string, Json> = {}
  for (const { at, options: own } of members)
    for (const [key, value] of Object.entries(own)) {
      if (options[key] === undefined) options[key] = value
      else if (JSON.stringify(options[key]) !== JSON.stringify(value))
        source.note([...at, key], `a model has one \`${key}\`: that of its first deployment`)
    }
  const price = options.price ?? members.find(({ listPrice }) => listPrice)?.listPrice
  return price === undefined ? { ...options, free: true } : { ...options, price }
}

const UNITS = { rpm: 'requests', tpm: 'tokens', max_parallel_requests: 'concurrency' } as const
type Limited = keyof typeof UNITS

/** The limits of all deployments of a model together. Where one has none, the model has none. */
export const limitsOf = (
  source: LitellmSource,
  groups: readonly Group[],
  parallel: number | undefined,
): Record<string, Fields> => {
  const limits: Record<string, Fields> = {}
  for (const { name, members } of groups) {
    const limit: Record<string, Json> = {}
    for (const key of Object.keys(UNITS) as Limited[]) {
      const sum = sumOf(
        source,
        members,
        key,
        key === 'max_parallel_requests' ? parallel : undefined,
      )
      if (sum === undefined) continue
      if (/[*{]/.test(name))
        noteLimits(
          source,
          members,
          key,
          'names with * have no limit of their own; `limits.model` has one for each model',
        )
      else limit[UNITS[key]] = key === 'max_parallel_requests' ? sum : `${sum}/min`
    }
    if (Object.keys(limit).length > 0) limits[name] = limit
  }
  return limits
}
const sumOf = (
  source: LitellmSource,
  members: readonly Deployment[],
  key: Limited,
  fallback: number | undefined,
): number | undefined => {
  const amounts = members.map(
    ({ routing }: { readonly routing: Routing }) => routing[key] ?? fallback,
  )
  if (amounts.every(amount => amount === undefined)) return undefined
  if (amounts.every(amount => amount !== undefined && Number.isInteger(amount) && amount > 0))
    return amounts.reduce<number>((sum, amount) => sum + (amount ?? 0), 0)
  noteLimits(
    source,
    members,
    key,
    `another deployment of the model has no such limit, so the model has none; a provider that refuses is followed by the next target`,
  )
  return undefined
}
const noteLimits = (
  source: LitellmSource,
  members: readonly Deployment[],
  key: Limited,
  reason: string,
): void => {
  for (const { at, routing } of members)
    if (routing[key] !== undefined) source.note([...at, 'litellm_params', key], reason)
}
