/** docs/limits.md: its commands run in order in a fresh clone; its example is a configuration. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { LONG } from '../helpers/long.ts'
import { pageOf, sessionOf } from './blocks.ts'
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

    const example = /^ {4}limits:[\s\S]*?(?=\n\n)/m.exec(pageOf(PAGE))?.[0] ?? ''
    const { limits, routes } = parse(example) as { limits: object; routes: { limit: object }[] }
    const file = join(copy.folder, 'routes.yaml')
    const text = readFileSync(file, 'utf8').replace(
      '    validate: schemas/chat-completions.json\n',
      `$&    limit: ${JSON.stringify(routes[0]?.limit)}\n`,
    )
    writeFileSync(file, `${text}\nlimits: ${JSON.stringify(limits)}\n`)
    t.match(await copy.shell("alias tollgate='node engine/bin.cjs'\ntollgate check"), /no problems/)
    writeFileSync(file, `${text}\nlimits: { models: { nobody: { requests: 1/s } } }\n`)
    await t.rejects(
      copy.shell("alias tollgate='node engine/bin.cjs'\ntollgate check"),
      /LIMIT_MODEL +no model "nobody" is defined/,
    )
  },
)
