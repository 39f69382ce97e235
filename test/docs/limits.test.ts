/** Every command of docs/limits.md runs, in its order, in a fresh clone; what it shows of routes.yaml is a configuration. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { LONG } from '../helpers/long.ts'
import { pageOf, sessionOf } from './blocks.ts'
import { clone } from './clone.ts'

const PAGE = 'docs/limits.md'

t.test('every shipped POST that is billed knows Idempotency-Key', async t => {
  const { routes } = parse(readFileSync(new URL('../../routes.yaml', import.meta.url), 'utf8')) as {
    routes: { path: string; model?: unknown; meter?: { free?: boolean }; idempotency?: unknown }[]
  }
  const billed = routes.filter(
    ({ path, model, meter }) => path.startsWith('POST ') && model && !meter?.free,
  )
  t.ok(billed.length > 12)
  t.same(
    billed.filter(({ idempotency }) => !idempotency).map(({ path }) => path),
    [],
  )
})

t.test('its commands', { skip: !LONG && 'CI and the long form run them' }, async t => {
  const place = await clone(t)
  await place.start()
  const out = await place.shell(sessionOf(PAGE))
  t.match(out, /HTTP\/1\.1 200[\s\S]*idempotent-replayed: true[\s\S]*HTTP\/1\.1 422/i)

  const shown = /^ {4}limits:[\s\S]*?(?=\n\n)/m.exec(pageOf(PAGE))?.[0] ?? ''
  const { limits, routes } = parse(shown) as { limits: object; routes: { limit: object }[] }
  const file = join(place.folder, 'routes.yaml')
  const text = readFileSync(file, 'utf8').replace(
    '    validate: schemas/chat-completions.json\n',
    `$&    limit: ${JSON.stringify(routes[0]?.limit)}\n`,
  )
  writeFileSync(file, `${text}\nlimits: ${JSON.stringify(limits)}\n`)
  t.match(await place.shell("alias tollgate='node engine/bin.cjs'\ntollgate check"), /no problems/)
  writeFileSync(file, `${text}\nlimits: { models: { nobody: { requests: 1/s } } }\n`)
  await t.rejects(
    place.shell("alias tollgate='node engine/bin.cjs'\ntollgate check"),
    /LIMIT_MODEL +no model "nobody" is defined/,
  )
})
