/** Request lines: the same JSON for repeated, long and ever new texts. */
import t from 'tap'
import { createRequestLines } from '../../../engine/observe/request-line.ts'

const LINE = {
  id: 'r1',
  requestId: undefined,
  trace: 't',
  route: 'chat',
  method: 'GET',
  path: '/',
  status: 200,
  end: 'complete',
  ms: 1,
  added: 0,
  bytes: 1,
  attempts: 1,
  upstream: undefined,
  target: undefined,
  code: undefined,
  details: undefined,
}

t.test('request lines: have each path unchanged, by and without the cache of texts', async t => {
  const lines = createRequestLines({ process: 'test' }, text => text.replace('secret', '***'))
  const pathOf = (path: string): string => JSON.parse(lines.write({ ...LINE, path })).path
  const long = `/${'x'.repeat(1_000)}`
  for (const path of ['/a', '/a', '/"quoted"', long, long]) t.equal(pathOf(path), path)
  const wrong = Array.from({ length: 2_500 }, (_, index) => `/new/${index}`).filter(
    path => pathOf(path) !== path,
  )
  t.same(wrong, [])
  t.equal(pathOf('/secret'), '/***')
  t.equal(pathOf('/secret'), '/***', 'masked in the cache, too')
})
