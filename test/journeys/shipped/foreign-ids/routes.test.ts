/** Law: an id of another account is answered as an unknown one, on every route of the shipped
 *  configuration whose path names an object of an account. */
import t from 'tap'
import { tollgate } from '../../../helpers/gateway/command-line.ts'
import { upstream } from '../shipped-gateway.ts'
import { ask, makeAccount, type Request, type Response } from './accounts.ts'
import { askedUpstreams, checkAlike, checkOwn } from './comparison.ts'
import { type Kind, makeObjects, type Parameters, scriptAnswers, unknownOf } from './objects.ts'

/** Parameters that name no object of an account. */
const NAMELESS: ReadonlySet<string> = new Set(['model', 'mode', 'resource', 'action'])
const PUBLIC_FILES = /^\/(?:console|sandbox)\/\{file\}$/
/** The end of a path that selects a part of the object before it. */
const PART = /\/results\/\{index\}\/\{member\}$/

type Maker = Kind | { readonly kind: Kind; readonly body: unknown }
const named = (kind: Kind, body: unknown): Maker => ({ kind, body })
const message = { type: 'message', role: 'user', content: 'And then?' }
const part = () => {
  const body = new FormData()
  body.append('data', new Blob(['more']))
  return body
}
/** The kind of object that each route names, by the name of the route.
 *  A new route needs an entry here. */
const ROUTES: Readonly<Record<string, Maker>> = {
  response: 'response',
  'delete-response': 'response',
  'cancel-response': 'response',
  'input-items': 'response',
  conversation: 'conversation',
  'update-conversation': named('conversation', { metadata: { topic: 'none' } }),
  'delete-conversation': 'conversation',
  'conversation-items': 'conversation',
  'create-items': named('conversation', { items: [message] }),
  item: 'conversation',
  'delete-item': 'conversation',
  'delete-message': 'message',
  'message-batch': 'messageBatch',
  'cancel-message-batch': 'messageBatch',
  'message-results': 'messageBatch',
  'delete-message-batch': 'messageBatch',
  interaction: 'interaction',
  'delete-interaction': 'interaction',
  'cancel-interaction': 'interaction',
  'interaction-v1': 'interaction',
  'delete-interaction-v1': 'interaction',
  'cancel-interaction-v1': 'interaction',
  'provider-file': 'providerFile',
  'delete-provider-file': 'providerFile',
  'download-provider-file': 'providerFile',
  'download-provider-file-v1': 'providerFile',
  cache: 'cache',
  'update-cache': named('cache', { ttl: '7200s' }),
  'delete-cache': 'cache',
  'cache-v1': 'cache',
  'update-cache-v1': named('cache', { ttl: '7200s' }),
  'delete-cache-v1': 'cache',
  'image-result': 'image',
  file: 'file',
  'delete-file': 'file',
  'file-content': 'file',
  'add-part': named('upload', part()),
  'complete-upload': named('upload', { part_ids: ['part_1'] }),
  'cancel-upload': 'upload',
  'signed-file': 'file',
  batch: 'batch',
  'cancel-batch': 'batch',
  task: 'task',
  'cancel-task': 'task',
  video: 'video',
  'delete-video': 'video',
  'video-content': 'video',
  'remix-video': named('video', { prompt: 'a dog' }),
  'mj-task': 'grid',
  'mj-fast-task': 'grid',
  'mj-turbo-task': 'grid',
  'mj-relax-task': 'grid',
  'account-task': 'task',
  'account-task-file': 'task',
  'cancel-account-task': 'task',
  'new-api-token': 'key',
  'new-api-delete': 'key',
  receipt: 'call',
  'show-key': 'key',
  'update-key': named('key', { name: 'renamed' }),
  'rotate-key': named('key', {}),
  'revoke-key': 'key',
  'show-token': 'token',
  'update-token': named('token', { name: 'renamed' }),
  'rotate-token': named('token', {}),
  'revoke-token': 'token',
  'update-member': named('member', { role: 'viewer' }),
  'link-member': 'member',
  'remove-member': 'member',
  'revoke-session': 'session',
}
/** The signature in the query is the credential, so that no account is known. */
const SIGNED: ReadonlySet<string> = new Set(['signed-file'])

interface Route {
  readonly name: string
  readonly method: string
  readonly path: string
}
const parametersOf = ({ path }: Route): readonly string[] =>
  [...path.replace(PART, '').matchAll(/\{(\w+)\}/g)].flatMap(([, name = '']) =>
    NAMELESS.has(name) ? [] : [name],
  )
const shippedRoutes = async (): Promise<readonly Route[]> => {
  const { code, out, err } = await tollgate(['routes', '--json'], {})
  if (code !== 0) throw new Error(err)
  const routes = JSON.parse(out) as readonly Route[]
  return routes.filter(each => parametersOf(each).length > 0 && !PUBLIC_FILES.test(each.path))
}
const routes = await shippedRoutes()
const kindOf = (maker: Maker): Kind => (typeof maker === 'string' ? maker : maker.kind)

/** The requests of a route: one for each of its methods. */
const requestsOf = ({ name, method, path }: Route, values: Parameters): readonly Request[] => {
  const maker = ROUTES[name]
  const body = typeof maker === 'object' ? { body: maker.body } : {}
  const whole = path.replaceAll(/\{(\w+)\}/g, (_, each) => values[each] ?? '')
  return method.split('|').map(each => ({ method: each, path: whole, ...body }))
}
/** The owner's ids with those of unknown objects in place of some. */
const unknownIn = (values: Parameters, names: readonly string[]): Parameters => ({
  ...values,
  ...Object.fromEntries(names.map(name => [name, unknownOf(values[name] ?? '')])),
})
/** Reads before changes before deletions, of which parts come first. */
const ORDER = ['GET', 'GET|HEAD', 'PATCH', 'POST', 'DELETE']
const byMethod = (one: Route, other: Route): number =>
  ORDER.indexOf(one.method) - ORDER.indexOf(other.method) || other.path.length - one.path.length

t.test('foreign ids: the table has each route whose path names an object', t => {
  const missing = routes.filter(({ name }) => !(name in ROUTES)).map(({ name }) => name)
  t.same(missing, [], 'add these routes, and makers of what they name')
  const names = new Set(routes.map(({ name }) => name))
  t.same(
    Object.keys(ROUTES).filter(name => !names.has(name)),
    [],
    'these are routes no more',
  )
  t.end()
})

t.test('foreign ids: in paths, they are answered as unknown ones', async t => {
  const [owner, caller] = [await makeAccount('path owner'), await makeAccount('path caller')]
  const [owned, own] = [await makeObjects(owner), await makeObjects(caller)]
  await scriptAnswers()
  await upstream.forget()
  const foreignAnswers = new Map<string, Response>()
  for (const route of routes) {
    const names = parametersOf(route)
    const maker = ROUTES[route.name]
    if (!maker) continue
    const kind = kindOf(maker)
    // Of a path with two ids, the first may be the caller's own.
    const mixed: Parameters = { ...owned[kind], ...pick(own[kind], names.slice(0, -1)) }
    const cases: readonly (readonly [values: Parameters, unknown: readonly string[]])[] = [
      [owned[kind], names],
      ...(names.length > 1 ? [[mixed, names.slice(-1)] as const] : []),
    ]
    for (const [values, unknown] of cases) {
      const others = unknownIn(values, unknown)
      const [foreign, missing] = [requestsOf(route, values), requestsOf(route, others)]
      for (const [at, request] of foreign.entries()) {
        const response = await ask(caller, request)
        const name = `${request.method} ${route.path}`
        checkAlike(
          t,
          name,
          { response, ids: pick(values, unknown) },
          { response: await ask(caller, missing[at] as Request), ids: pick(others, unknown) },
        )
        if (values === owned[kind]) foreignAnswers.set(name, response)
      }
    }
  }
  t.same(await askedUpstreams(), [], 'no upstream was asked')
  const deleted = new Set<string>()
  for (const route of [...routes].sort(byMethod)) {
    const maker = ROUTES[route.name]
    if (!maker || SIGNED.has(route.name) || deleted.has(lastIdOf(route, maker))) continue
    for (const request of requestsOf(route, owned[kindOf(maker)])) {
      const name = `${request.method} ${route.path}`
      checkOwn(t, name, await ask(owner, request), foreignAnswers.get(name) as Response)
    }
    if (route.method === 'DELETE') deleted.add(lastIdOf(route, maker))
  }
})
/** Equal for routes that name the same object. */
const lastIdOf = (route: Route, maker: Maker): string =>
  `${kindOf(maker)} ${parametersOf(route).at(-1)}`
const pick = (values: Parameters, names: readonly string[]): Parameters =>
  Object.fromEntries(names.map(name => [name, values[name] ?? '']))
