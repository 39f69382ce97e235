/** Advice on routes that anyone may call although their upstream costs money. Pure. */
import type { Advise, Document, Json } from '../../engine/plugin.ts'

interface RouteOptions {
  readonly name?: string
  readonly path: string
  readonly auth?: Json
  readonly model?: Json
  readonly upstream?: Json
}

export const adviseOnOpenRoutes = ({ routes, pipeline }: Document, advise: Advise): void => {
  const list = (Array.isArray(routes) ? routes : []) as readonly RouteOptions[]
  const hasStage = Array.isArray(pipeline) && pipeline.includes('auth')
  for (const [index, route] of list.entries()) {
    const isOpen = !hasStage || [route.auth].flat().includes('none')
    if (!isOpen || !callsUpstream(route)) continue
    const at = ['routes', index, ...(route.auth === undefined ? [] : ['auth'])]
    const name = JSON.stringify(route.name ?? route.path)
    const wayOut = hasStage ? 'remove `none` from its `auth`' : 'add `auth` to the pipeline'
    const message = `anyone may call the route ${name}, and its upstream is paid by you; ${wayOut}`
    advise(at, 'error', 'NO_AUTH', message)
  }
}

/** A route that lists models calls no upstream. */
const callsUpstream = ({ upstream, model }: RouteOptions): boolean =>
  upstream !== undefined || (model !== undefined && Object(model).list === undefined)
