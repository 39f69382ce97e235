/** The models by name: exact names in one map, then patterns, the most specific first. Built once for a configuration. */
import type { Json, Lent, Target } from '../../engine/plugin.ts'
import { fileValidator, type Validator, validatorOf } from '../schema/compile.ts'
import { carry, type Fill, isPattern, type Pattern, parsePattern } from './pattern.ts'
import type { ModelOptions, Section, TargetOptions } from './section.ts'

export interface Entry {
  /** Its key in `models:`. */
  readonly name: string
  readonly options: ModelOptions
  /** Route name, or `*`, to what it accepts there; false: it is not served there. */
  readonly accepts: ReadonlyMap<string, Validator | false>
  readonly targets: readonly Target[]
  /** The routes that serve it, where no other does: name to path without its slash. */
  readonly only: ReadonlyMap<string, string> | undefined
}
export interface Found {
  readonly entry: Entry
  readonly targets: readonly Target[]
}

type Ground = Pick<Lent, 'file' | 'share' | 'section'>
interface Named {
  readonly name?: string
  readonly path: string
}

export class Catalogue {
  readonly #exact = new Map<string, Found>()
  readonly #patterns: readonly { readonly pattern: Pattern; readonly entry: Entry }[]

  constructor(section: Section, ground: Ground) {
    const patterns = []
    const paths = pathsOf(ground)
    for (const [name, options] of Object.entries(section)) {
      const entry = {
        ...{ name, options },
        accepts: acceptsOf(name, options, ground),
        targets: targetsOf(options),
        only:
          options.only && new Map(options.only.map(route => [route, paths.get(route) ?? route])),
      }
      if (isPattern(name)) patterns.push({ pattern: parsePattern(name), entry })
      // One object for each name: whoever remembers something about its targets finds it again.
      else this.#exact.set(name, { entry, targets: entry.targets })
    }
    this.#patterns = patterns.sort((one, other) => bySpecificity(one.pattern, other.pattern))
  }
  find(asked: string): Found | undefined {
    return this.#exact.get(asked) ?? this.#fitting(asked)
  }
  /** Those a client can name, in the order of the configuration. */
  get named(): readonly Entry[] {
    return [...this.#exact.values()].map(({ entry }) => entry)
  }
  /** Those, and behind them the patterns in the order they are asked. */
  get all(): readonly Entry[] {
    return [...this.named, ...this.#patterns.map(({ entry }) => entry)]
  }
  #fitting(asked: string): Found | undefined {
    if (asked.length > NAME_LIMIT) return undefined
    for (const { pattern, entry } of this.#patterns) {
      const fill = pattern.match(asked)
      if (fill) return { entry, targets: filled(entry.targets, fill) }
    }
    return undefined
  }
}
const NAME_LIMIT = 256

/** Routes by name: `v1/responses`. */
const pathsOf = (ground: Ground): ReadonlyMap<string, string> => {
  const routes = ground.section<readonly Named[]>('routes')
  const list = Array.isArray(routes) ? (routes as readonly Named[]) : []
  return new Map(list.map(({ name, path }) => [name ?? path, path.replace(/^\S+ \//, '')]))
}

/** More letters written out first, then named holes before stars, then the order of the file. */
export const bySpecificity = (one: Pattern, other: Pattern): number =>
  other.literal - one.literal || one.stars - other.stars

/** What the entry itself says of its targets stands among their traits. */
export const targetsOf = ({ to, traits, output, thinking }: ModelOptions): readonly Target[] => {
  const own = { ...(output && { output }), ...(thinking && { thinks: thinking }), ...traits }
  const shared = Object.keys(own).length > 0 ? own : undefined
  return Object.freeze((typeof to === 'string' ? [to] : to).map(each => targetOf(each, shared)))
}

const targetOf = (given: string | TargetOptions, shared: ModelOptions['traits']): Target => {
  const { to, weight, traits }: TargetOptions = typeof given === 'string' ? { to: given } : given
  const slash = to.indexOf('/')
  return {
    upstream: slash < 0 ? to : to.slice(0, slash),
    ...(slash >= 0 && { name: to.slice(slash + 1) }),
    ...(weight !== undefined && { weight }),
    ...((shared ?? traits) && { traits: { ...shared, ...traits } }),
  }
}
const filled = (targets: readonly Target[], fill: Fill): readonly Target[] =>
  targets.map(target =>
    target.name === undefined ? target : { ...target, name: carry(target.name, fill) },
  )

const acceptsOf = (
  name: string,
  { accepts = {} }: ModelOptions,
  ground: Ground,
): ReadonlyMap<string, Validator | false> =>
  new Map(
    Object.entries(accepts).map(([route, schema]) => [
      route,
      acceptOf(schema, `models.${name}.accepts.${route}`, ground),
    ]),
  )
const acceptOf = (schema: Json, where: string, ground: Ground): Validator | false => {
  if (schema === false) return false
  return typeof schema === 'string'
    ? fileValidator(schema, ground)
    : validatorOf(schema, where, ground)
}
