/** Method and path to a route, its parameters, and what is nearest when there is none. */
import FindMyWay from 'find-my-way'

export interface Match<T> {
  readonly value: T
  readonly params: Readonly<Record<string, string>>
}
const NO_PARAMS = Object.freeze({})

export class Router<T> {
  // Most paths have no parameter, and a path found here needs no further look at its spelling.
  readonly #exact = new Map<string, Match<T>>()
  // The length of the whole target is bounded before; a long name is no reason to find nothing.
  readonly #tree = FindMyWay({ caseSensitive: true, maxParamLength: Number.MAX_SAFE_INTEGER })
  readonly #methods = new Set<string>()
  readonly #nearest = new Map<string, T>()
  /** Patterns that are in there as a whole. */
  readonly #whole = new Set<string>()

  add(method: string, pattern: string, value: T): void {
    this.#methods.add(method)
    if (pattern.includes('{')) this.#tree.on(method as 'GET', treePattern(pattern), () => {}, value)
    else this.#exact.set(`${method} ${pattern}`, { value, params: NO_PARAMS })
    const [own = '', ...shorter] = prefixes(pattern)
    // Whose own pattern it is comes before those that only begin with it.
    if (!this.#whole.has(own)) this.#nearest.set(own, value)
    this.#whole.add(own)
    for (const prefix of shorter) if (!this.#nearest.has(prefix)) this.#nearest.set(prefix, value)
  }
  /** By the exact spelling only: the fast way for a target that was not canonicalised yet. */
  exact(method: string, path: string): Match<T> | undefined {
    return this.#exact.get(`${method} ${path}`)
  }
  find(method: string, path: string): Match<T> | undefined {
    const exact = this.exact(method, path)
    if (exact) return exact
    if (!this.#methods.has(method)) return undefined
    const found = this.#tree.find(method as 'GET', path)
    if (!found) return undefined
    const params = found.params as Record<string, string>
    for (const name in params) if (params[name] === '') return undefined
    return { value: found.store as T, params }
  }
  /** The methods that this path has, for 405. */
  methods(path: string): readonly string[] {
    return [...this.#methods].filter(method => this.find(method, path))
  }
  /** The first route that shares the longest beginning with the path: whose dialect an error takes. */
  nearest(path: string): T | undefined {
    for (const prefix of prefixes(path)) {
      const value = this.#nearest.get(prefix)
      if (value !== undefined) return value
    }
    return this.#nearest.get('')
  }
}

/** `/a/{id}:go` in find-my-way's words: `/a/:id([^/:]+)::go`. A parameter ends where the next character begins. */
const treePattern = (pattern: string): string =>
  pattern.replaceAll(':', '::').replace(/\{(\w+)\}(?=(.?))/g, (_, name: string, next: string) => {
    return next === '' || next === '/' ? `:${name}` : `:${name}([^/${next}]+)`
  })

/** `/a/b/c`: itself, `/a/b`, `/a`, and nothing. */
const prefixes = (path: string): readonly string[] => {
  const list = [path]
  for (let at = path.lastIndexOf('/'); at >= 0; at = at === 0 ? -1 : path.lastIndexOf('/', at - 1))
    list.push(path.slice(0, at))
  return list
}
