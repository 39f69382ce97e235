/** Checks modes of the route option `auth` that are names of plugins. */
import { nearest } from '../../engine/config/nearest.ts'
import { routesIn } from '../../engine/kit.ts'
import type { Document, Json, Report } from '../../engine/plugin.ts'
import type { AuthOptions } from '../credentials/auth-option.ts'
import { authRequirementOf, modeNames } from '../credentials/credential-extraction.ts'

/** Reports a mode that is neither one of `auth` nor a plugin before it. */
export const checkModes = (document: Document, report: Report): void => {
  const { pipeline } = document
  const order: readonly Json[] = Array.isArray(pipeline) ? pipeline : []
  const before = order.slice(0, Math.max(0, order.indexOf('auth'))).map(String)
  for (const [index, route] of routesIn(document)) {
    const options = route.auth as AuthOptions | undefined
    if (options === undefined) continue
    for (const name of authRequirementOf(options).plugins) {
      if (before.includes(name) || (name === 'jwt' && before.includes('identity'))) continue
      const message = order.includes(name)
        ? `the plugin "${name}" must come before "auth" in the pipeline to set the account`
        : `auth has no mode "${name}", and no plugin before "auth" in the pipeline has this name`
      const known = [...modeNames(), ...before]
      report(['routes', index, 'auth'], 'AUTH_MODE', message, nearest(name, known))
    }
  }
}
