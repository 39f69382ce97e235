/** Routes by method and path: exact ones, parameters, other methods. */
import t from 'tap'
import { readTarget } from '../../../engine/request/path.ts'
import { Router } from '../../../engine/request/router.ts'
import fc from '../../helpers/property.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'

const routerOf = (...routes: readonly string[]): Router<string> => {
  const router = new Router<string>()
  for (const route of routes) {
    const [method = '', pattern = ''] = route.split(' ')
    router.add(method, pattern, route)
  }
  return router
}

t.test('router: a path without parameters is found by its spelling', async t => {
  const router = routerOf('POST /v1/x', 'GET /v1/x', 'GET /v1/x/')
  t.equal(router.find('POST', '/v1/x')?.value, 'POST /v1/x')
  t.equal(router.find('GET', '/v1/x/')?.value, 'GET /v1/x/', 'a slash at the end counts')
  t.same(router.find('GET', '/v1/x')?.params, {})
  for (const [method, path] of [
    ['GET', '/v1'],
    ['GET', '/V1/X'],
    ['GET', '/v1/x/y'],
    ['PUT', '/v1/x'],
    ['get', '/v1/x'],
  ] as const)
    t.equal(router.find(method, path), undefined, `${method} ${path}`)
})

t.test('router: a parameter is the text between two slashes', async t => {
  const router = routerOf('GET /v1/{kind}/{id}', 'GET /v1/{kind}/{id}/content', 'GET /v1/file/new')
  t.same(router.find('GET', '/v1/file/7'), {
    value: 'GET /v1/{kind}/{id}',
    params: { kind: 'file', id: '7' },
  })
  t.same(router.find('GET', '/v1/file/7/content')?.params, { kind: 'file', id: '7' })
  t.equal(router.find('GET', '/v1/file/new')?.value, 'GET /v1/file/new', 'an exact path is first')
  t.same(router.find('GET', '/v1/a%20b/%C3%A9')?.params, { kind: 'a b', id: 'é' }, 'decoded')
  t.same(router.find('GET', '/v1/file/a%3Ab')?.params, { kind: 'file', id: 'a:b' })
  for (const path of ['/v1/file', '/v1/file/', '/v1//7', '/v1/file/7/', '/v1/file/7/other'])
    t.equal(router.find('GET', path), undefined, path)
  const long = 'x'.repeat(5_000)
  t.equal(router.find('GET', `/v1/file/${long}`)?.params.id, long, 'of any length')
})

t.test('router: a parameter may end within its segment', async t => {
  const router = routerOf(
    'POST /v1beta/models/{model}:generateContent',
    'POST /v1beta/models/{model}:streamGenerateContent',
    'GET /v1beta/models/{model}',
    'GET /files/{name}.json',
    'GET /range/{from}-{to}',
    'GET /v1/files/{id}',
    'GET /v1/files/{id}:download',
  )
  for (const id of [
    'a:b',
    'a:download',
    ':',
    'a::',
    ':download',
    'é:b',
    'a/b',
    '%',
    'x'.repeat(5e3),
  ])
    t.same(router.find('GET', `/v1/files/${encodeURIComponent(id)}:download`), {
      value: 'GET /v1/files/{id}:download',
      params: { id },
    })
  t.equal(router.find('GET', '/v1/files/a:b:download')?.params.id, 'a:b', 'unescaped')
  t.equal(router.find('GET', '/v1/files/a:b')?.value, 'GET /v1/files/{id}')
  t.equal(router.find('GET', '/v1/files/:download'), undefined, 'not a file of that name')
  t.same(router.find('POST', '/v1beta/models/gx-2.5-pro:generateContent'), {
    value: 'POST /v1beta/models/{model}:generateContent',
    params: { model: 'gx-2.5-pro' },
  })
  t.equal(
    router.find('POST', '/v1beta/models/gx:streamGenerateContent')?.value,
    'POST /v1beta/models/{model}:streamGenerateContent',
  )
  t.equal(router.find('GET', '/v1beta/models/gx-2.5-pro')?.params.model, 'gx-2.5-pro')
  t.same(router.find('GET', '/files/a.json')?.params, { name: 'a' })
  t.same(router.find('GET', '/range/1-20')?.params, { from: '1', to: '20' })
  for (const [method, path] of [
    ['POST', '/v1beta/models/gx'],
    ['POST', '/v1beta/models/gx:other'],
    ['POST', '/v1beta/models/gx:generateContentX'],
    ['POST', '/v1beta/models/:generateContent'],
    ['POST', '/v1beta/models/a/b:generateContent'],
    ['GET', '/files/a.xml'],
    ['GET', '/range/1'],
  ] as const)
    t.equal(router.find(method, path), undefined, path)
})

t.test('router: a path with other methods lists them', async t => {
  const router = routerOf('POST /v1/x', 'GET /v1/{id}', 'DELETE /v1/{id}', 'PATCH /other')
  t.same([...router.methods('/v1/x')].sort(), ['DELETE', 'GET', 'POST'])
  t.same([...router.methods('/v1/y')].sort(), ['DELETE', 'GET'])
  t.same(router.methods('/nowhere'), [])
})

t.test('router: an exact path is one look-up among a thousand routes', async t => {
  const list = Array.from({ length: 1_000 }, (_, n) => `POST /v${n % 7}/service-${n}/call`)
  const router = routerOf(...list, ...list.map((_, n) => `POST /v${n % 7}/service-${n}/{id}/x`))
  for (const [n, route] of list.entries()) {
    const path = route.slice('POST '.length)
    const match = router.find('POST', path)
    if (match?.value !== route) t.fail(route)
    // The same object each time: a look-up searches and builds nothing.
    if (match !== router.exact('POST', path) || match !== router.find('POST', path)) t.fail(path)
    if (router.find('POST', `/v${n % 7}/service-${n}/7/x`)?.params.id !== '7') t.fail(path)
  }
  t.equal(router.exact('POST', '/v0/service-0/7/x'), undefined, 'a parameter needs the tree')
  t.equal(Object.isFrozen(router.exact('POST', '/v0/service-0/call')?.params), true)
})

t.test('router: parameters are the text in the path', async t => {
  const router = routerOf('GET /a/{one}/b/{two}')
  const pieces = fc.constantFrom('a', 'é', ' ', ':', '@', '~', '.', '-', '"', 'x%3Ay', '%41', 'b')
  const segment = fc
    .array(pieces, { minLength: 1, maxLength: 4 })
    .map(list => encodeURI(list.join('')))
  fc.assert(
    fc.property(segment, segment, (one, two) => {
      let path: string
      try {
        path = readTarget(`/a/${one}/b/${two}`, 'x').path
      } catch {
        return true // refused: neither routed nor forwarded
      }
      const [, , first = '', , second = ''] = path.split('/')
      const params = router.find('GET', path)?.params
      return params?.one === decodeURIComponent(first) && params.two === decodeURIComponent(second)
    }),
    { numRuns: shortOrLong(1_000, 100_000) },
  )
  t.pass()
})
