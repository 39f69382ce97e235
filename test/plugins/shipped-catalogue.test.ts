/** The shipped catalogue: every model has an upstream, a name there and a price, and what the specification names is in it. */
import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import type { Document } from '../../engine/plugin.ts'
import { Catalogue } from '../../plugins/catalogue/catalogue.ts'
import type { Section } from '../../plugins/catalogue/section.ts'
import model from '../../plugins/model.ts'
import { fakeHost } from '../helpers/exchange.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string) => parse(readFileSync(new URL(path, root), 'utf8'))
const models: Section = Object.assign(
  {},
  ...globSync('models/*.yaml', { cwd: root.pathname }).map(path => read(path).models),
)
const document: Document = { ...read('routes.yaml'), models }
const catalogue = new Catalogue(models, fakeHost())

t.test('nothing is wrong with it', async t => {
  model.check(document, (where, code, message) => t.fail(`${where.join('.')} ${code} ${message}`))
  for (const { name, options, targets } of catalogue.all) {
    t.ok(options.free || Object.keys(options.price ?? {}).length > 0, `${name} has a price`)
    t.ok(
      targets.every(target => target.name),
      `${name} has a name at every target`,
    )
  }
})

t.test('what can be served as it comes is there', async t => {
  for (const [asked, target] of [
    ['gx-2.5-pro', 'gx/gemini-2.5-pro'],
    ['gx-2.5-flash', 'gx/gemini-2.5-flash'],
    ['gx-2.0-flash', 'gx/gemini-2.0-flash'],
    ['gx-1.5-pro', 'gx/gemini-1.5-pro'],
    ['gx-2.5-pro-preview', 'gx/gemini-2.5-pro-preview'],
    ['gx-2.5-pro-preview-05-06', 'gx/gemini-2.5-pro-preview-05-06'],
    ['gp-4o', 'gp/gpt-4o'],
    ['gp-4.1', 'gp/gpt-4.1'],
    ['cl-sonnet-4-5', 'cl/claude-sonnet-4-5'],
    ['o3-pro', 'gp/o3-pro'],
    ['o3-deep-research-2025-06-26', 'gp/o3-deep-research-2025-06-26'],
    ['code-mini-latest', 'gp/codex-mini-latest'],
    ['gp-4-gizmo-g-aB3', 'gp/gpt-4-gizmo-g-aB3'],
    ['gp-4o-gizmo-g-7', 'gp/gpt-4o-gizmo-g-7'],
  ] as const) {
    const [found] = catalogue.find(asked)?.targets ?? []
    t.equal(`${found?.upstream}/${found?.name}`, target, asked)
  }
  for (const nobody of ['gp-4-gizmo-g-', 'gp-4-gizmo-g-a_b', 'gp-4-gizmo-g-a/b', 'gp-4-gizmo-a'])
    t.equal(catalogue.find(nobody), undefined, nobody)
})
