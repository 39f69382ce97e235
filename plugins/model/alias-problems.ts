/** Problems of `aliases:` in `models:`: names that are taken, and patterns that do not fit. */
import type { Report } from '../../engine/plugin.ts'
import { isPattern, type Pattern, parsePattern } from '../catalogue/pattern.ts'
import type { Section } from '../catalogue/section.ts'

export const checkAliases = (section: Section, report: Report): void => {
  const owners = new Map<string, string>()
  for (const [name, { aliases = [] }] of Object.entries(section))
    for (const [index, alias] of aliases.entries()) {
      const owner = Object.hasOwn(section, alias) ? alias : owners.get(alias)
      owners.set(alias, name)
      const message =
        owner === undefined ? misfit(name, alias) : `"${alias}" is a name of the model "${owner}"`
      if (message !== undefined) report(['models', name, 'aliases', index], 'MODEL_ALIAS', message)
    }
}

/** Why an alias cannot stand for the name; undefined: it can. */
const misfit = (name: string, alias: string): string | undefined => {
  if (!isPattern(name))
    return isPattern(alias) ? `"${name}" is not a pattern, so "${alias}" may be none` : undefined
  const [own, other] = [readPattern(name), readPattern(alias)]
  if (typeof other === 'string') return other
  if (typeof own === 'string') return undefined // it has been reported already
  const isSame =
    own.stars === other.stars &&
    own.placeholders.symmetricDifference(other.placeholders as Set<string>).size === 0
  return isSame ? undefined : `"${alias}" lacks a * or a placeholder of "${name}", or has more`
}
const readPattern = (text: string): Pattern | string => {
  try {
    return parsePattern(text)
  } catch (error) {
    return error instanceof Error ? error.message : 'unusable'
  }
}
