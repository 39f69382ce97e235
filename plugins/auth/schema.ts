/** The JSON Schema of the route option `auth`. */

const mode = {
  enum: ['key', 'query-key', 'system-token', 'none'],
  description:
    'key: an API key in a header (Authorization: Bearer or Token, x-api-key, x-goog-api-key, api-key, mj-api-secret, a realtime subprotocol); ' +
    'query-key: an API key as ?key=; system-token: a system token in Authorization, with or without Bearer; none: anyone',
}
const modeWithAccount = { ...mode, enum: mode.enum.filter(each => each !== 'none') }
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
