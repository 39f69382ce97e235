/** Finds the route of a method and path, and its parameters. */
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

  add(method: string, pattern: string, value: T): void {
    this.#methods.add(method)
    if (pattern.includes('{')) this.#tree.on(method as 'GET', treePattern(pattern), () => {}, value)
    else this.#exact.set(`${method} ${pattern}`, { value, params: NO_PARAMS })
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
}

/** `/a/{id}:go` becomes `/a/:id(.*)::go`: a parameter has what is before the last text of its
 *  segment; `/a/{x}-{y}` ends the first at its next character. An empty one matches no route. */
const treePattern = (pattern: string): string =>
  pattern.replaceAll(':', '::').replace(PARAMETER, (_, name: string, next: string, more = '') => {
    return next === '' ? `:${name}` : `:${name}(${more === '' ? '.' : `[^${next}]`}*)`
  })
const PARAMETER = /\{(\w+)\}(?=([^/{]?)([^/{]*\{)?)/g
