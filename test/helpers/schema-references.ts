/** A schema with its definitions in the places that refer to them. */
interface Root {
  readonly $defs?: Readonly<Record<string, unknown>>
}

export const withDefinitions = <T>({ $defs = {}, ...root }: Root): T => {
  const expand = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(expand)
    if (typeof value !== 'object' || value === null) return value
    const { $ref } = value as { readonly $ref?: unknown }
    if (typeof $ref === 'string' && $ref.startsWith('#/$defs/'))
      return expand($defs[$ref.slice('#/$defs/'.length)])
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, expand(each)]))
  }
  return expand(root) as T
}
