/** Finds the route that a client meant whose URL has no route: `/v1` is missing or doubled, a slash
 *  too many, or capitals. Pure. */
import type { HostBase } from '../../engine/plugin.ts'

/** `POST /v1/chat/completions`, or undefined. */
export type RouteHint = (method: string, path: string) => string | undefined

interface HintRoute {
  readonly method: string
  readonly path: string
  readonly pattern: RegExp
}

export const createRouteHint = ({ section }: Pick<HostBase, 'section'>): RouteHint => {
  const options = section<readonly { readonly path: string }[]>('routes')
  const routes = (Array.isArray(options) ? options : []).map(({ path }) => hintRoute(path))
  return (method, path) => {
    if (path.length > LONGEST) return undefined
    const served = candidatesOf(path).flatMap(each =>
      routes.filter(route => route.method !== 'WS' && route.pattern.test(each)),
    )
    const route = served.find(each => each.method === method) ?? served[0]
    return route && `${route.method} ${route.path}`
  }
}
const LONGEST = 512

const hintRoute = (route: string): HintRoute => {
  const [method = '', path = ''] = route.split(' ')
  const literals = path.split(/\{[^}]*\}/).map(each => RegExp.escape(each))
  return { method, path, pattern: new RegExp(`^${literals.join('[^/:]+')}$`) }
}
const candidatesOf = (path: string): readonly string[] => {
  const plain = path.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '')
  const lower = plain.toLowerCase()
  return [plain, `/v1${plain}`, plain.replace(/^(?:\/v1)+(?=\/v1)/, ''), lower, `/v1${lower}`]
}
