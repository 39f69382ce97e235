/** Query parameters: every endpoint of operators and of an account refuses those that its
 *  description does not have, and names the nearest that it has. */
import t from 'tap'
import { endpointOf } from '../../../plugins/operator/operation.ts'
import { OPERATIONS } from '../../../plugins/operator/table.ts'
import { operationsIn, readDocument } from '../../helpers/gateway/openapi.ts'
import { gateway } from './shipped-console.ts'

const operator = await gateway.signIn({ token: gateway.token })
const ann = await gateway.customer('ann', 10)

/** The reply to a mistyped query. */
const refused = (name: string, hint: string | RegExp) => ({
  status: 400,
  body: { success: false, param: name, message: hint },
})
/** A name of a parameter with two letters changed places. */
const mistyped = (name: string): string => `${name.slice(0, -2)}${name.at(-1)}${name.at(-2)}`

interface Listed {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
}
t.test('operators: an unknown parameter is refused by every endpoint of the list', async t => {
  const { body } = await operator.ask('GET', '/api/admin/endpoints')
  const listed = body.data as unknown as readonly Listed[]
  const names = listed.map(({ method, path }) => `${method} ${path.replace('/api/admin/', '')}`)
  const operations = OPERATIONS.filter(({ scope }) => scope !== 'own').map(endpointOf)
  t.same(
    operations.filter(name => !names.includes(name)),
    [],
  )
  for (const { method, path, query } of listed) {
    const input = method === 'GET' ? undefined : {}
    const unknown = await operator.ask(method, `${path}?zzzzzzzz=1`, input)
    const known = Object.keys(query)
    const hint = known.length === 0 ? 'this endpoint has none' : `known ones are ${known[0]}`
    t.match(unknown, refused('zzzzzzzz', new RegExp(hint)), `${method} ${path}`)
    for (const name of known.filter(each => each.length > 3 && mistyped(each) !== each)) {
      const wrong = await operator.ask(method, `${path}?${mistyped(name)}=1`, input)
      const nearest = new RegExp(`do you mean \`${name}\`\\?`)
      t.match(wrong, refused(mistyped(name), nearest), `${method} ${path}?${mistyped(name)}`)
    }
  }
})

/** Programs written for new-api send parameters of their own to these. */
const COMPATIBLE = [
  /^\/api\/(?:log|token|models|pricing|price-sheet|status|usage\/token|user\/(?:info|models|self))\b/,
  /^\/api\/session\b/,
]
t.test('accounts: an unknown parameter is refused by every endpoint', async t => {
  const document = await readDocument(gateway.url, gateway.token)
  const own = operationsIn(document).filter(
    ({ path, method }) =>
      method !== 'head' &&
      path.startsWith('/api/') &&
      !path.startsWith('/api/admin/') &&
      !COMPATIBLE.some(form => form.test(path)),
  )
  t.ok(own.length >= OPERATIONS.flatMap(({ own = [] }) => own).length)
  for (const { method, path } of own) {
    const address = `${path.replaceAll(/\{\w+\}/g, '1')}?zzzzzzzz=1`
    const input = method === 'get' || method === 'delete' ? undefined : {}
    const reply = await ann.ask(method.toUpperCase(), address, input)
    t.match(reply, refused('zzzzzzzz', / is not a parameter here; /), `${method} ${path}`)
  }
})
