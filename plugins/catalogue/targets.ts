/** The targets that an entry of `models:` names. Pure. */
import type { Target, TargetRules } from '../../engine/plugin.ts'
import { type Captures, insertCaptures } from './pattern.ts'
import type { ModelOptions, TargetOptions } from './section.ts'

/** The targets of an entry; members of the entry that describe the model become traits of each
 *  target. */
export const targetsOf = (
  options: Pick<ModelOptions, 'to' | 'traits' | 'output' | 'thinking' | 'prompt_cache'>,
): readonly Target[] => {
  const { to, traits, output, thinking, prompt_cache } = options
  const own = {
    ...(output && { output }),
    ...(thinking && { thinks: thinking }),
    ...(prompt_cache !== undefined && { prompt_cache }),
    ...traits,
  }
  const shared = Object.keys(own).length > 0 ? own : undefined
  return Object.freeze((typeof to === 'string' ? [to] : to).map(each => targetOf(each, shared)))
}

export const upstreamOf = (target: string | TargetOptions): string => {
  const to = typeof target === 'string' ? target : target.to
  const slash = to.indexOf('/')
  return slash < 0 ? to : to.slice(0, slash)
}
const targetOf = (target: string | TargetOptions, shared: ModelOptions['traits']): Target => {
  const { to, weight, cost, traits }: TargetOptions =
    typeof target === 'string' ? { to: target } : target
  const slash = to.indexOf('/')
  return {
    upstream: upstreamOf(to),
    ...(slash >= 0 && { name: to.slice(slash + 1) }),
    ...(weight !== undefined && { weight }),
    ...(cost !== undefined && { cost }),
    ...((shared ?? traits) && { traits: { ...shared, ...traits } }),
  }
}

/** Undefined where the rules of the route apply. */
export const sendingRulesOf = ({
  balance,
  retry_on,
  fallback,
}: ModelOptions): TargetRules | undefined => {
  if (balance === undefined && retry_on === undefined && fallback === undefined) return undefined
  return { ...(balance && { balance }), ...(retry_on && { retryOn: retry_on }) }
}
export const addRules = (
  targets: readonly Target[],
  rules: TargetRules | undefined,
): readonly Target[] =>
  rules ? Object.freeze(targets.map(target => ({ ...target, rules }))) : targets
/** Fills the text that a pattern matched into the names. */
export const insertNames = (targets: readonly Target[], captures: Captures): readonly Target[] =>
  targets.map(target =>
    target.name === undefined ? target : { ...target, name: insertCaptures(target.name, captures) },
  )
