/** The gateway as plugins see it: `host.gateway`. */
import { errors } from '../../errors.ts'
import type { Gateway, RouteView } from '../../plugin.ts'

/** The routes are those of the version; the other calls go to the primary. */
export const gatewayOf = (
  gateway: Omit<Gateway, 'routes'> = noGateway,
  routes: () => readonly RouteView[],
): Gateway => {
  let views: readonly RouteView[] | undefined
  return {
    ...gateway,
    get routes() {
      views ??= routes()
      return views
    },
  }
}
const fault = errors({
  NO_GATEWAY: [503, 'No gateway is running here; start one with `tollgate start`.'],
})
const refuse = (): Promise<never> => Promise.reject(fault('NO_GATEWAY'))
/** Of a process that none controls. */
export const noGateway: Omit<Gateway, 'routes'> = {
  status: refuse,
  readings: refuse,
  history: refuse,
  files: refuse,
  diff: refuse,
  reload: refuse,
  rollback: refuse,
  check: refuse,
  save: refuse,
  edit: refuse,
  schema: refuse,
}
