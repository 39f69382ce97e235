/** Numbers that no store can have, in paths, queries and bodies of every endpoint with a system
 *  token or an API key: each is refused as the client's mistake. */
import t from 'tap'
import { operationsIn, readDocument } from '../../helpers/gateway/openapi.ts'
import { gateway } from './shipped-console.ts'

/** As they are in JSON: beyond 2^63, beyond what is exact, and beyond any integer type. */
const HUGE = ['9223372036854775808', '99999999999999999999999', '1e300']
/** Among them uploads, which the sandbox does not take. */
const LEFT_OUT = /^\/upload\/|\/session$|configuration\/(?:reload|rollback)$/

interface Schema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}
interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: {
    readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>
  }
}

const isOf = ({ type }: Schema, name: string): boolean => [type].flat().includes(name)
/** JSON texts of a body: in each, one member is a huge number. */
const bodiesOf = ({ properties = {}, required = [] }: Schema, huge: string): string[] => {
  const usual = (name: string): string => {
    const schema = properties[name] ?? {}
    if (isOf(schema, 'integer') || isOf(schema, 'number')) return '1'
    return isOf(schema, 'array') ? '[]' : isOf(schema, 'object') ? '{}' : '"1"'
  }
  return Object.entries(properties).map(([name, schema]) => {
    const value = isOf(schema, 'string') ? `"${huge}"` : huge
    const others = required.filter(each => each !== name)
    const members = [...others.map(each => `"${each}": ${usual(each)}`), `"${name}": ${value}`]
    return `{${members.join(', ')}}`
  })
}

const credentialOf = (path: string): string =>
  path.startsWith('/api/') ? gateway.token : gateway.apiKey
const statusOf = async (method: string, path: string, body?: string): Promise<string> => {
  const response = await fetch(gateway.url + path, {
    method,
    headers: {
      authorization: `Bearer ${credentialOf(path)}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body }),
  })
  if (response.status < 500) {
    // Some send events until the client leaves.
    await response.body?.cancel()
    return ''
  }
  return `${method} ${path} ${body ?? ''}: ${response.status} ${await response.text()}`
}

t.test('huge numbers: no endpoint takes one for a fault of the gateway', async t => {
  const document = await readDocument(gateway.url, gateway.token)
  let count = 0
  const faults: string[] = []
  for (const { path, method, operation } of operationsIn(document)) {
    if (LEFT_OUT.test(path) || method === 'head') continue
    const { parameters = [], requestBody } = operation as Operation
    const schema = requestBody?.content?.['application/json']?.schema
    for (const huge of HUGE) {
      const place = path.replaceAll(/\{[^}]+\}/g, encodeURIComponent(huge))
      const queries = parameters.filter(each => each.in === 'query')
      const places = [place, ...queries.map(({ name }) => `${place}?${name}=${huge}`)]
      const bodies = method === 'get' ? [] : schema ? bodiesOf(schema, huge) : ['{}']
      const calls =
        bodies.length > 0
          ? bodies.map(body => statusOf(method.toUpperCase(), place, body))
          : places.map(each => statusOf(method.toUpperCase(), each))
      count += calls.length
      faults.push(...(await Promise.all(calls)).filter(Boolean))
    }
  }
  t.same(faults, [])
  t.ok(count > 300, `${count} calls`)
})

t.test('huge numbers: one as an id in a path of /api is a mistake in the request', async t => {
  const document = await readDocument(gateway.url, gateway.token)
  const ids = [...operationsIn(document)].filter(
    ({ path, method }) => /^\/api\/.*\{/.test(path) && method !== 'head',
  )
  t.ok(ids.length > 3, `${ids.length} operations`)
  for (const { path, method } of ids)
    for (const huge of HUGE.slice(0, 2)) {
      const place = path.replaceAll(/\{[^}]+\}/g, huge)
      const response = await fetch(gateway.url + place, {
        method: method.toUpperCase(),
        headers: { authorization: `Bearer ${gateway.token}` },
      })
      const text = await response.text()
      t.equal(response.status, 400, `${method} ${place}: ${text.slice(0, 200)}`)
    }
})
