/** The route whose path resembles another path most. */
import t from 'tap'
import { NearestRoutes } from '../../../engine/request/nearest-route.ts'

const routesOf = (...patterns: readonly string[]): NearestRoutes<string> => {
  const routes = new NearestRoutes<string>()
  for (const pattern of patterns) routes.add(pattern, pattern)
  return routes
}

const CASES: Readonly<Record<string, readonly [patterns: readonly string[], nearest: object]>> = {
  'the first with the most segments in common': [
    ['/v1/files', '/v1/files/{id}', '/v1/messages', '/v1beta/models/{model}:go'],
    {
      '/v1/files': '/v1/files',
      '/v1/files/7': '/v1/files/{id}',
      '/v1/files/7/x': '/v1/files',
      '/v1/messages/count': '/v1/messages',
      '/v1/nothing': '/v1/files',
      '/v1': '/v1/files',
      '/v1beta/models/x:stop': '/v1beta/models/{model}:go',
      '/elsewhere': '/v1/files',
      '/': '/v1/files',
      '': '/v1/files',
    },
  ],
  'one that ends there, before one that only begins so': [
    ['/v1/models/{model}:ask', '/v1/models'],
    { '/v1/models': '/v1/models', '/v1/models/x': '/v1/models', '/v1': '/v1/models/{model}:ask' },
  ],
  'one with a parameter, which any text fits': [
    [
      '/v1/models',
      '/{mode}/mj/submit',
      '/v1/models/{model}',
      '/v1/models/{model}:ask',
      '/{a}.json',
    ],
    {
      '/fast/mj/submit': '/{mode}/mj/submit',
      '/fast/mj/other/path': '/{mode}/mj/submit',
      '/fast': '/v1/models',
      '/fast/other': '/v1/models',
      '/v1/models/a:ask': '/v1/models/{model}:ask',
      '/v1/models/a/': '/v1/models/{model}',
      '/v1/mj/x': '/{mode}/mj/submit',
      '/x.json': '/{a}.json',
    },
  ],
  'also for a path that no request may have': [
    ['/a', '/v1/messages', '/v1/models/{model}:ask', '/{mode}/mj/submit'],
    {
      '/v1/messages%00': '/v1/messages',
      '/v1/messages;x': '/v1/messages',
      '/v1/messages\\x': '/v1/messages',
      '//v1//messages': '/v1/messages',
      '/v2/.././v1/messages': '/v1/messages',
      '/v1/models/a%2fb:ask': '/v1/models/{model}:ask',
      '/v1/models/:ask': '/v1/models/{model}:ask',
      '/v1/models/a:ask:b::ask': '/v1/models/{model}:ask',
      [`/v1/models/${'x'.repeat(9_000)}:ask`]: '/v1/models/{model}:ask',
      '/%00/mj/submit': '/{mode}/mj/submit',
      '/\x01/mj/%zz': '/{mode}/mj/submit',
      ['/x'.repeat(20_000)]: '/a',
    },
  ],
}
for (const [what, [patterns, nearest]] of Object.entries(CASES))
  t.test(`nearest route: ${what}`, async t => {
    const routes = routesOf(...patterns)
    for (const [path, pattern] of Object.entries(nearest))
      t.equal(routes.find(path), pattern, path.slice(0, 80))
  })

t.test('nearest route: without routes there is none', async t => {
  t.equal(routesOf().find('/v1'), undefined)
})
