/** The option `auth` of a route: who may call it. */
import {
  annotate,
  anyOf,
  list,
  object,
  oneOf,
  orElse,
  type RawOf,
  reading,
  required,
  type Shape,
  text,
} from '../../engine/config/shape.ts'

const MODE = text(
  'key: an API key in a header (Authorization: Bearer or Token, x-api-key, x-goog-api-key, api-key, mj-api-secret, a realtime subprotocol); ' +
    'query-key: an API key as ?key=; system-token: a system token in Authorization, with or without Bearer; session: the cookie of the console, with its x-csrf-token for changes; none: anyone; jwt: a token of the identity provider (section identity); ' +
    'the name of a plugin before auth in the pipeline: requests whose account it has set',
  {
    pattern: '^[a-z][a-z0-9-]*$',
    examples: ['key', 'query-key', 'system-token', 'session', 'jwt', 'none'],
  },
)
const MODE_WITH_ACCOUNT = annotate(MODE, {
  pattern: '^(?!none$)[a-z][a-z0-9-]*$',
  examples: ['key', 'query-key', 'system-token'],
})
/** Reads a list. */
const oneOrSeveral = (mode: Shape<string>) => {
  const one = reading(mode, (each): readonly string[] => [each])
  return [one, list(undefined, mode, { minItems: 1, uniqueItems: true })] as const
}

export const AUTH = anyOf(
  'Who may call this route: one mode, or several of which any suffices; or modes and a role.',
  [
    ...oneOrSeveral(MODE),
    object(
      'Modes, and the role that the account must have.',
      {
        by: orElse(
          anyOf(
            'One mode, or several of which any suffices; key by default.',
            oneOrSeveral(MODE_WITH_ACCOUNT),
            { examples: ['key', ['key', 'system-token']] },
          ),
          'key',
        ),
        role: required(
          oneOf('customer: any account; admin: refuses others with 403.', ['customer', 'admin'], {
            type: 'string',
            examples: ['admin'],
          }),
        ),
      },
      { examples: [{ role: 'admin' }] },
    ),
  ],
  { examples: ['key', ['key', 'query-key'], { by: 'system-token', role: 'admin' }] },
)
export type AuthOptions = RawOf<typeof AUTH>
