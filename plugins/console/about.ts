/** Descriptions of the console's endpoints for clients. */
import type { RouteDescription } from '../../engine/plugin.ts'
import { SESSION } from '../rows/accounts.ts'
import { any, boolean, envelopeOf, fields, json, list, nullable, object, text } from '../shapes.ts'
import type { AdminEndpoint } from './admin/endpoint.ts'
import { ADMIN_ENDPOINTS } from './admin/endpoints.ts'

const ABOUT: Readonly<Record<string, RouteDescription>> = {
  home: { summary: 'Sends browsers to the console', responses: { '*/*': text } },
  page: { summary: 'The page of the console', responses: { 'text/html': text } },
  folder: { summary: 'Sends clients to the page of the console', responses: { '*/*': text } },
  file: { summary: 'Sends a file of the console', responses: { '*/*': text } },
  'sign-in': {
    summary: 'Signs in with a system token or a sign-in link, and sets a cookie',
    responses: json(envelopeOf(SESSION)),
  },
  session: { summary: 'Shows who is signed in', responses: json(envelopeOf(SESSION)) },
  'sign-out': {
    summary: 'Ends the session; `url` is the page that ends that of the identity provider',
    responses: json(envelopeOf(nullable(object({ url: text })))),
  },
  provider: {
    summary: 'Sends browsers to the identity provider, to sign in',
    responses: { '*/*': text },
  },
  callback: {
    summary: 'Signs in with the code of the identity provider, and sends browsers to the console',
    responses: { '*/*': text },
  },
  logout: {
    summary: 'Ends sessions by a logout token of the identity provider',
    responses: { '*/*': text },
  },
}

/** `pattern`: of the route. The endpoints of operators are described one by one. */
export const describeConsole = (view: string, pattern: string): RouteDescription =>
  view === 'admin' ? describeAdmin(pattern) : (ABOUT[view] ?? {})

const LIST: Readonly<Record<string, Omit<AdminEndpoint, 'run'>>> = {
  'GET endpoints': { summary: 'Lists the endpoints of operators.', data: list(fields) },
}

const describeAdmin = (pattern: string): RouteDescription => {
  const prefix = pattern.slice(0, pattern.indexOf('{'))
  const depth = pattern.split('/').length
  const operations = Object.entries({ ...LIST, ...ADMIN_ENDPOINTS }).flatMap(([name, endpoint]) => {
    const [method = '', path = ''] = name.split(' ')
    const { summary, query = {}, body, data } = endpoint
    const operation = {
      name: `admin-${name.toLowerCase().replace(/[ /]/g, '-')}`,
      method,
      path: prefix + path,
      summary: summary.replace(/\.$/, ''),
      parameters: Object.entries(query).map(([parameter, description]) => {
        return { name: parameter, in: 'query' as const, description, schema: text }
      }),
      ...(body && { body: json(body) }),
      responses: json(object({ success: boolean, message: text, data }, { next: nullable(text) })),
    }
    return operation.path.split('/').length === depth ? operation : []
  })
  return {
    summary: 'The endpoints of operators',
    responses: json(object({ success: boolean, data: any }, { next: nullable(text) })),
    operations,
  }
}
