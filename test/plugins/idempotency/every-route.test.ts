/** Every shipped route that costs money or makes something takes an Idempotency-Key. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

interface Route {
  readonly method: string
  readonly path: string
  readonly stages: readonly string[]
}
const CLI = fileURLToPath(new URL('../../../engine/cli.ts', import.meta.url))
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** Why a route that takes POST needs no key; undefined: it needs one. */
const exceptionOf = ({ path, stages }: Route): string | undefined => {
  if (stages.includes('count')) return 'counting tokens is free'
  if (/\/(?:cancel|test)$/.test(path)) return 'a repetition changes nothing'
  if (path.endsWith('/list-by-condition')) return 'it reads'
  if (path === '/v1/conversations/{id}') return 'a repetition sets the same'
  if (/^\/api\/session(?:\/|$)/.test(path)) return 'it begins or ends the session of one browser'
  return undefined
}

t.test('idempotency: every shipped route that costs or makes something takes a key', async t => {
  const text = execFileSync(process.execPath, [CLI, 'routes', '--json'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  const routes = (JSON.parse(text) as readonly Route[]).filter(({ method }) =>
    method.includes('POST'),
  )
  t.ok(routes.length > 60)
  for (const route of routes)
    if (exceptionOf(route) === undefined)
      t.ok(route.stages.includes('idempotency'), `POST ${route.path}`)
})
