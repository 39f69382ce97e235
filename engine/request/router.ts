/** Finds the route of a method and path, its parameters, or the nearest route. */
import FindMyWay from 'find-my-way'

export interface Match<T> {
  readonly value: T
  readonly params: Readonly<Record<string, string>>
}
const NO_PARAMS = Object.freeze({})

export class Router<T> {
  // Most paths have no parameter; a target found here needs no canonicalisation.
  readonly #exact = new Map<string, Match<T>>()
  // The length of the target is limited before: a long parameter must match as well.
  readonly #tree = FindMyWay({ caseSensitive: true, maxParamLength: Number.MAX_SAFE_INTEGER })
  readonly #methods = new Set<string>()
  readonly #nearest = new Map<string, T>()
  /** Prefixes that are the whole pattern of a route. */
  readonly #patterns = new Set<string>()

  add(method: string, pattern: string, value: T): void {
    this.#methods.add(method)
    if (pattern.includes('{')) this.#tree.on(method as 'GET', treePattern(pattern), () => {}, value)
    else this.#exact.set(`${method} ${pattern}`, { value, params: NO_PARAMS })
    const [own = '', ...shorter] = prefixes(pattern)
    // A route whose whole pattern is the prefix wins over routes that only begin with it.
    if (!this.#patterns.has(own)) this.#nearest.set(own, value)
    this.#patterns.add(own)
    for (const prefix of shorter) if (!this.#nearest.has(prefix)) this.#nearest.set(prefix, value)
  }
  /** Finds a target by its exact spelling only: fast, before it is canonicalised. */
  exact(method: string, path: string): Match<T> | undefined {
    return this.#exact.get(`${method} ${path}`)
  }
  find(method: string, path: string): Match<T> | undefined {
    const exact = this.exact(method, path)
    if (exact) return exact
    if (!this.#methods.has(method)) return undefined
    const match = this.#tree.find(method as 'GET', path)
    if (!match) return undefined
    const params = match.params as Record<string, string>
    for (const name in params) if (params[name] === '') return undefined
    return { value: match.store as T, params }
  }
  /** The methods of this path, for a 405. */
  methods(path: string): readonly string[] {
    return [...this.#methods].filter(method => this.find(method, path))
  }
  /** The first route with the longest common prefix: its dialect renders an error. */
  nearest(path: string): T | undefined {
    for (const prefix of prefixes(path)) {
      const value = this.#nearest.get(prefix)
      if (value !== undefined) return value
    }
    return this.#nearest.get('')
  }
}

/** `/a/{id}:go` becomes `/a/:id([^/:]+)::go`. A parameter ends before the next character. */
const treePattern = (pattern: string): string =>
  pattern.replaceAll(':', '::').replace(/\{(\w+)\}(?=(.?))/g, (_, name: string, next: string) => {
    return next === '' || next === '/' ? `:${name}` : `:${name}([^/${next}]+)`
  })

/** Of `/a/b/c`: itself, `/a/b`, `/a`, and the empty string. */
const prefixes = (path: string): readonly string[] => {
  const list = [path]
  for (let at = path.lastIndexOf('/'); at >= 0; at = at === 0 ? -1 : path.lastIndexOf('/', at - 1))
    list.push(path.slice(0, at))
  return list
}
