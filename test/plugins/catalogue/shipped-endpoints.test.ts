/** Endpoints of shipped models in model lists: exactly the routes that accept the model. */
import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import type { Document, Exchange, Next, UpstreamView } from '../../../engine/plugin.ts'
import { Catalogue } from '../../../plugins/catalogue/catalogue.ts'
import {
  endpointRoutes,
  endpointsOf,
  type RouteOptions,
} from '../../../plugins/catalogue/endpoints.ts'
import type { Section } from '../../../plugins/catalogue/section.ts'
import embed from '../../../plugins/embed/index.ts'
import { formatOf } from '../../../plugins/formats/index.ts'
import model, { type Options } from '../../../plugins/model/index.ts'
import translate from '../../../plugins/translate/index.ts'
import { fakeExchange, fakeHost, noNext, thrownBy } from '../../helpers/exchange.ts'

interface Route extends RouteOptions {
  readonly model?: Options
}
const root = new URL('../../../', import.meta.url)
const read = (path: string) => parse(readFileSync(new URL(path, root), 'utf8'))
const models: Section = Object.assign(
  {},
  ...globSync('models/*.yaml', { cwd: root.pathname }).map(path => read(path).models),
)
const document: Document = { ...read('routes.yaml'), models }
const upstreams = Object.fromEntries(
  Object.entries(document.upstreams as Record<string, UpstreamView['options']>).map(
    ([name, options]) => [name, { options }],
  ),
)
const host = fakeHost({ document, upstreams })
const catalogue = new Catalogue(models, host)
const routes = (document.routes as unknown as readonly Route[]).filter(
  each => each.translate !== undefined || each.embed !== undefined,
)
const endpointOf = (route: Route): string =>
  route.embed === undefined ? (formatOf(route.translate)?.endpoint ?? '?') : 'embeddings'

/** A request that goes as far as to its targets. */
const bodies: Readonly<Record<string, object>> = {
  embeddings: { input: 'hi', content: { parts: [{ text: 'hi' }] } },
}
const stagesOf = (route: Route) => {
  const way =
    route.embed === undefined
      ? translate.setup(route.translate as never, host)
      : embed.setup(route.embed as never, host)
  return [model.setup(route.model ?? 'body', host), way]
}
const servedStages = routes.map(route => ({ route, stages: stagesOf(route) }))
/** Whether this route has no way to the model. */
const isRefused = async (
  { route, stages }: (typeof servedStages)[number],
  asked: string,
): Promise<boolean> => {
  const [, path = ''] = route.path.split(' ')
  const exchange = fakeExchange({
    ...{ method: 'POST', path: path.replace('{model}', asked), params: { model: asked } },
    route: route.name ?? route.path,
    body: JSON.stringify({ model: asked, ...bodies[endpointOf(route)] }),
  })
  const run = (index: number): Promise<void> | void =>
    stages[index]?.handle?.(exchange as Exchange, (() => run(index + 1)) as Next)
  const fault = await thrownBy(() => run(0) ?? noNext())
  return fault?.status === 404
}
/** A name that the entry answers to. */
const askable = (name: string): string => name.replace(/\{[^}]*\}|\*/g, 'a1')

t.test('model list: a model’s endpoints are those that do not answer 404', async t => {
  let listed = 0
  for (const entry of catalogue.all) {
    const name = askable(entry.name)
    const said = endpointsOf(entry, upstreams, endpointRoutes(host))
    const taken = new Set<string>()
    for (const each of servedStages)
      if (!(await isRefused(each, name))) taken.add(endpointOf(each.route))
    t.same([...said].sort(), [...taken].sort(), name)
    listed += said.length
  }
  t.ok(routes.length >= 15 && listed > 100, `${routes.length} routes, ${listed} endpoints`)
})

t.test('model list: endpoints of each kind of model', async t => {
  const text = ['openai', 'openai-response', 'anthropic', 'gemini']
  const drawn = ['image-generation', ...text]
  for (const [name, expected] of [
    ['gp-4.1', text],
    ['cl-haiku-4-5', text],
    ['gx-2.5-flash', text],
    ['rc-v3', drawn],
    ['rc-v3-svg', drawn],
    ['gp-4o-image', drawn],
    ['flux-1.1-pro', drawn],
    ['gp-embedding-3-small', ['embeddings']],
    ['gx-embedding-001', ['embeddings']],
    ['multimodal-embedding-v1', ['embeddings']],
    ['tts-1', ['audio-speech']],
    ['whisper-1', ['audio-transcription']],
    ['vdq3', []],
  ] as const) {
    const found = catalogue.find(name)
    const said = found && endpointsOf(found.entry, upstreams, endpointRoutes(host))
    t.same([...(said ?? ['?'])].sort(), [...expected].sort(), name)
  }
})
