/** The JSON Schema of the route option `auth`, and the check of modes that are names of plugins. */
import { nearest } from '../../engine/config/nearest.ts'
import { isFields } from '../../engine/kit.ts'
import type { Document, Json, Report } from '../../engine/plugin.ts'
import {
  type AuthOptions,
  authRequirementOf,
  modeNames,
} from '../credentials/credential-extraction.ts'

const mode = {
  type: 'string',
  pattern: '^[a-z][a-z0-9-]*$',
  examples: ['key', 'query-key', 'system-token', 'session', 'none'],
  description:
    'key: an API key in a header (Authorization: Bearer or Token, x-api-key, x-goog-api-key, api-key, mj-api-secret, a realtime subprotocol); ' +
    'query-key: an API key as ?key=; system-token: a system token in Authorization, with or without Bearer; session: the cookie of the console, with its x-csrf-token for changes; none: anyone; ' +
    'the name of a plugin before auth in the pipeline: requests whose account it has set',
}
const modeWithAccount = {
  ...mode,
  pattern: '^(?!none$)[a-z][a-z0-9-]*$',
  examples: ['key', 'query-key', 'system-token'],
}
const oneOrSeveral = (one: object) => [
  one,
  { type: 'array', items: one, minItems: 1, uniqueItems: true },
]

export const AUTH_SCHEMA = {
  description:
    'Who may call this route: one mode, or several of which any suffices; or modes and a role.',
  examples: ['key', ['key', 'query-key'], { by: 'system-token', role: 'admin' }],
  anyOf: [
    ...oneOrSeveral(mode),
    {
      type: 'object',
      description: 'Modes, and the role that the account must have.',
      required: ['role'],
      additionalProperties: false,
      properties: {
        by: {
          description: 'One mode, or several of which any suffices; key by default.',
          anyOf: oneOrSeveral(modeWithAccount),
          examples: ['key', ['key', 'system-token']],
        },
        role: {
          description: 'customer: any account; admin: refuses others with 403.',
          type: 'string',
          enum: ['customer', 'admin'],
          examples: ['admin'],
        },
      },
      examples: [{ role: 'admin' }],
    },
  ],
}

/** Reports a mode that is neither one of `auth` nor a plugin before it. */
export const checkModes = ({ pipeline, routes }: Document, report: Report): void => {
  const order: readonly Json[] = Array.isArray(pipeline) ? pipeline : []
  const before = order.slice(0, Math.max(0, order.indexOf('auth'))).map(String)
  for (const [index, route] of (Array.isArray(routes) ? routes : []).entries()) {
    const options = isFields(route) ? (route.auth as AuthOptions | undefined) : undefined
    if (options === undefined) continue
    for (const name of authRequirementOf(options).plugins) {
      if (before.includes(name)) continue
      const message = order.includes(name)
        ? `the plugin "${name}" must come before "auth" in the pipeline to set the account`
        : `auth has no mode "${name}", and no plugin before "auth" in the pipeline has this name`
      const known = [...modeNames(), ...before]
      report(['routes', index, 'auth'], 'AUTH_MODE', message, nearest(name, known))
    }
  }
}
