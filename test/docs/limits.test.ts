/** docs/limits.md: its commands run in order in a fresh clone. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { LONG } from '../helpers/run-settings.ts'
import { sessionOf } from './blocks.ts'
import { clone } from './clone.ts'

const PAGE = 'docs/limits.md'

t.test('routes.yaml: every billed POST accepts Idempotency-Key', async t => {
  const { routes } = parse(readFileSync(new URL('../../routes.yaml', import.meta.url), 'utf8')) as {
    routes: { path: string; model?: unknown; meter?: { free?: boolean }; idempotency?: unknown }[]
  }
  const billedRoutes = routes.filter(
    ({ path, model, meter }) => path.startsWith('POST ') && model && !meter?.free,
  )
  t.ok(billedRoutes.length > 12)
  t.same(
    billedRoutes.filter(({ idempotency }) => !idempotency).map(({ path }) => path),
    [],
  )
})

t.test(
  'docs/limits.md: its commands run in order in a fresh clone',
  { skip: !LONG && 'CI and the long form run them' },
  async t => {
    const copy = await clone(t)
    await copy.start()
    const out = await copy.shell(sessionOf(PAGE))
    t.match(out, /HTTP\/1\.1 200[\s\S]*idempotent-replayed: true[\s\S]*HTTP\/1\.1 422/i)
  },
)
