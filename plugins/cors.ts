/** Plugin `cors`: lets pages of other origins call the routes from browsers, by the headers of the
 *  Fetch standard, on answers and errors alike. */
import {
  anyOf,
  duration,
  flag,
  list,
  object,
  oneOf,
  type RawOf,
  text,
  type ValueOf,
} from '../engine/config/shape.ts'
import { isFields, routesIn } from '../engine/kit.ts'
import type { Document, Headers, Host, Plugin, Report, Request, Stage } from '../engine/plugin.ts'

const NAME = '^(?:\\*|[A-Za-z0-9!#$%&*+.^_`|~-]+)$'
const ORIGIN =
  '^(?:\\*|[a-z][a-z0-9+.-]*://(?:\\*\\.)?(?:[a-z0-9_.-]+|\\[[0-9a-f:.]+\\])(?::(?:\\*|[0-9]{1,5}))?)$'
const SAFE = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

const headerNames = (description: string, example: string) =>
  list(description, text('The name of a header.', { pattern: NAME, examples: [example] }), {
    default: ['*'],
    minItems: 1,
    examples: [['*'], [example]],
  })
const SECTION = object(
  'Which pages of other origins may call the routes from browsers. Routes may have `cors:` of their own, whose members count before these.',
  {
    origins: list(
      'Origins of such pages: * is every one, https://*.example.com every name below it, and http://localhost:* every port.',
      text('An origin, without a path.', {
        pattern: ORIGIN,
        examples: ['https://app.example.com', 'https://*.example.com', '*'],
      }),
      { minItems: 1, examples: [['https://app.example.com']] },
    ),
    methods: list(
      'Methods that they may use. By default those of the routes of the path.',
      oneOf('A method.', SAFE, { examples: ['POST'] }),
      { minItems: 1, examples: [['GET', 'POST']] },
    ),
    headers: headerNames(
      'Headers that their requests may have; * is every header, also `authorization`.',
      'authorization',
    ),
    expose: headerNames(
      'Headers of answers that they may read; * is every header.',
      'x-request-id',
    ),
    max_age: duration('How long a browser may remember the answer to a preflight request.', {
      default: '10m',
      examples: ['10m'],
    }),
    credentials: flag(
      'Whether requests may have the cookies of this origin, which are sessions of the console. It needs the origins by name.',
      { default: false, examples: [false] },
    ),
  },
  { examples: [{ origins: ['https://app.example.com'] }] },
)
type Section = RawOf<typeof SECTION>
const ROUTE = anyOf(
  'Which pages of other origins may call this route from browsers, where it differs from the section `cors:`; false: none.',
  [oneOf('No page may.', [false], { examples: [false] }), SECTION],
  { examples: [false, { origins: ['*'] }] },
)

export default {
  schema: ROUTE.schema,
  default: {},
  sections: { cors: SECTION.schema },
  check: problemsIn,
  setup: (options, host): Stage => stageOf(options, host),
} satisfies Plugin<false | Section>

const stageOf = (options: false | Section, host: Host): Stage => {
  if (options === false) return {}
  const { origins, ...rule } = SECTION.read({ ...host.section<Section>('cors'), ...options })
  if (!origins) return {}
  const rules: Rules = { ...rule, isAny: origins.includes('*'), isAllowed: originTest(origins) }
  return {
    headers: (headers, request) => withCors(headers, request, rules),
    preflight: (request, allowed) => preflight(request, allowed, rules),
    explain: () => ({ origins }),
  }
}
type Rules = Omit<ValueOf<typeof SECTION>, 'origins'> & {
  readonly isAny: boolean
  isAllowed(origin: string): boolean
}

const originTest = (origins: readonly string[]): ((origin: string) => boolean) => {
  if (origins.includes('*')) return () => true
  const forms = origins.map(
    origin =>
      new RegExp(
        `^${origin
          .replace(/[.+[\]]/g, '\\$&')
          .replace('://*', '://[a-z0-9_-]+(?:\\.[a-z0-9_-]+)*')
          .replace(':*', ':\\d+')}$`,
      ),
  )
  return origin => forms.some(form => form.test(origin))
}

const ALLOW_ORIGIN = 'access-control-allow-origin'
const CORS = /^access-control-/
/** Every response gets them, of which `headers` of a reply knows nothing. */
const OWN_HEADERS = ['x-request-id', 'x-tollgate-version']

/** The headers of a reply, with those of this route in place of those of an upstream. */
const withCors = (
  headers: Headers,
  { method, headers: ofRequest }: Request,
  rules: Rules,
): Headers => {
  const isPreflight = method === 'OPTIONS' && 'access-control-request-method' in ofRequest
  const members = Object.entries(headers).filter(([name]) => isPreflight || !CORS.test(name))
  const own = Object.fromEntries(members) as Headers
  const vary = varyWith(own.vary, rules)
  if (vary !== undefined) own.vary = vary
  const { origin } = ofRequest
  if (origin === undefined || !rules.isAllowed(origin)) return own
  const allowed = { ...own, ...allowOrigin(origin, rules) }
  return isPreflight
    ? allowed
    : { ...allowed, 'access-control-expose-headers': exposed(own, rules) }
}
/** In a request with credentials, browsers take `*` for the name of a header: all are listed. */
const exposed = (headers: Headers, { expose, credentials }: Rules): string =>
  (expose.includes('*') && credentials ? [...Object.keys(headers), ...OWN_HEADERS] : expose).join(
    ', ',
  )
/** A cache must not give one origin the answer to another, unless all get the same. */
const varyWith = (vary: Headers[string] | undefined, { isAny }: Rules): string | undefined => {
  const present = vary === undefined ? [] : [vary].flat()
  if (isAny || /(?:^|,)\s*(?:origin|\*)\s*(?:,|$)/i.test(present.join()))
    return present.join(', ') || undefined
  return [...present, 'Origin'].join(', ')
}
const allowOrigin = (origin: string, { isAny, credentials }: Rules): Headers => ({
  [ALLOW_ORIGIN]: isAny ? '*' : origin,
  ...(credentials && { 'access-control-allow-credentials': 'true' }),
})

/** `allowed`: the methods of the path. `*` does not cover `authorization`, so the headers that a
 *  browser names are repeated. */
const preflight = ({ headers }: Request, allowed: readonly string[], rules: Rules): Headers => {
  const { origin = '', 'access-control-request-headers': names = '' } = headers
  if (!rules.isAllowed(origin)) return {}
  const methods = rules.methods
    ? allowed.filter(each => rules.methods?.some(one => one === each))
    : allowed
  const named = rules.headers.includes('*') ? names : rules.headers.join(', ')
  return {
    'access-control-allow-methods': methods.join(', '),
    ...(named !== '' && { 'access-control-allow-headers': named }),
    'access-control-max-age': String(Math.floor(rules.max_age / 1_000)),
  }
}

/** Any page could act for whoever is signed in to the console. */
function problemsIn(document: Document, report: Report): void {
  const { cors } = document
  const section = isFields(cors) ? cors : {}
  const check = (options: unknown, where: readonly (string | number)[]): void => {
    const { origins, credentials } = { ...section, ...(isFields(options) ? options : {}) }
    if (credentials === true && Array.isArray(origins) && origins.includes('*'))
      report(
        where,
        'CORS_CREDENTIALS',
        '`credentials: true` needs origins by name: with * every page could use the sessions of others',
      )
  }
  if (cors !== undefined) check({}, ['cors'])
  for (const [index, route] of routesIn(document))
    if (isFields(route.cors)) check(route.cors, ['routes', index, 'cors'])
}
