/** Finds the route whose path resembles another path most. It renders errors of paths without a
 *  route, and of requests that are refused before they have one. */

interface Node<T> {
  /** Children of segments without a parameter. */
  readonly literals: Map<string, Node<T>>
  /** Children of segments with a parameter, by their pattern. */
  readonly parameters: Map<string, { readonly fits: RegExp; readonly node: Node<T> }>
  /** Whether its segment has text of its own: a parameter alone fits every path. */
  readonly isNamed: boolean
  /** The first route below it. */
  readonly first: T
  /** The first route that ends here. */
  whole: T | undefined
}
interface Candidate<T> {
  readonly depth: number
  readonly value: T
}

export class NearestRoutes<T> {
  #root: Node<T> | undefined

  add(pattern: string, value: T): void {
    this.#root ??= nodeOf(value, true)
    let node = this.#root
    for (const segment of segmentsOf(pattern)) node = childOf(node, segment, value)
    node.whole ??= value
  }
  /** The first route that has the most segments in common, from the left; a route that ends there
   *  is preferred. `path` may be malformed. */
  find(path: string): T | undefined {
    return this.#root && search(this.#root, segmentsOf(path), 0)?.value
  }
}

const nodeOf = <T>(first: T, isNamed: boolean): Node<T> => ({
  literals: new Map(),
  parameters: new Map(),
  isNamed,
  first,
  whole: undefined,
})

const childOf = <T>(node: Node<T>, segment: string, value: T): Node<T> => {
  const existing = node.literals.get(segment) ?? node.parameters.get(segment)?.node
  if (existing) return existing
  const child = nodeOf(value, !/^\{\w+\}$/.test(segment))
  if (segment.includes('{')) node.parameters.set(segment, { fits: patternOf(segment), node: child })
  else node.literals.set(segment, child)
  return child
}

/** `{id}:go` becomes `.*:go`: a parameter matches the text that the router accepts, or none. */
const patternOf = (segment: string): RegExp => {
  const [start = '', ...texts] = segment.split(/\{\w+\}/)
  const rest = texts.map((text, index) => {
    if (text === '') return '.+'
    const isLast = index === texts.length - 1
    return `${isLast ? '.' : `[^${RegExp.escape(text.slice(0, 1))}]`}*${RegExp.escape(text)}`
  })
  return new RegExp(`^${RegExp.escape(start)}${rest.join('')}$`, 's')
}

/** RFC 3986 §5.2.4: without dot segments; also without empty ones. */
const segmentsOf = (path: string): readonly string[] => {
  const segments: string[] = []
  for (const segment of path.split('/'))
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(segment)
  return segments
}

const search = <T>(
  node: Node<T>,
  segments: readonly string[],
  at: number,
): Candidate<T> | undefined => {
  const segment = segments[at]
  let best: Candidate<T> | undefined
  for (const next of segment === undefined ? [] : stepsOf(node, segment)) {
    const candidate = search(next, segments, at + 1)
    if (candidate && candidate.depth > (best?.depth ?? -1)) best = candidate
  }
  if (best) return best
  const counts = node.isNamed || (segment === undefined && node.whole !== undefined)
  return counts ? { depth: at, value: node.whole ?? node.first } : undefined
}

/** Children that a segment fits: the literal one, then those with text beside a parameter. */
const stepsOf = <T>({ literals, parameters }: Node<T>, segment: string): readonly Node<T>[] => {
  const literal = literals.get(segment) ?? literals.get(cleanStart(segment))
  const others = [...parameters.values()].filter(({ fits }) => fits.test(segment))
  const nodes = others.map(({ node }) => node)
  nodes.sort((a, b) => Number(b.isNamed) - Number(a.isNamed))
  return literal ? [literal, ...nodes] : nodes
}

/** RFC 3986 §3.3: the characters before the first that a path must escape, or before an escape. */
const cleanStart = (segment: string): string =>
  /^[A-Za-z0-9\-._~!$&'()*+,=:@]*/.exec(segment)?.[0] ?? ''
