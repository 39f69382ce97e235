/** Endpoints of shipped models in model lists: exactly the routes that accept the model. */
import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import type { Document, Exchange, Next, UpstreamView } from '../../../engine/plugin.ts'
import { Catalogue } from '../../../plugins/catalogue/catalogue.ts'
import {
  Endpoints,
  nativeMethodsOf,
  type RouteOptions,
} from '../../../plugins/catalogue/endpoints.ts'
import type { Section } from '../../../plugins/catalogue/section.ts'
import embed from '../../../plugins/embed/index.ts'
import { formatOf } from '../../../plugins/formats/index.ts'
import model, { type Options } from '../../../plugins/model/index.ts'
import translate from '../../../plugins/translate/index.ts'
import { errorFrom, fakeExchange, fakeHost, noNext } from '../../helpers/gateway/fake-exchange.ts'

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
const endpointsOfModels = new Endpoints(host)
const routes = (document.routes as unknown as readonly Route[]).filter(
  each => each.translate !== undefined || each.embed !== undefined,
)
const endpointOf = (route: Route): string =>
  route.embed === undefined ? (formatOf(route.translate)?.endpoint ?? '?') : 'embeddings'

/** Bodies that pass until the targets are known, by endpoint. */
const bodies: Readonly<Record<string, object>> = {
  embeddings: { input: 'hi', content: { parts: [{ text: 'hi' }] } },
}
const stagesOf = (route: Route) => {
  const formatStage =
    route.embed === undefined
      ? translate.setup(route.translate as never, host)
      : embed.setup(route.embed as never, host)
  return [model.setup(route.model ?? 'body', host), formatStage]
}
const routeStages = routes.map(route => ({ route, stages: stagesOf(route) }))
/** Whether the route refuses the model with 404. */
const isRefused = async (
  { route, stages }: (typeof routeStages)[number],
  name: string,
): Promise<boolean> => {
  const [, path = ''] = route.path.split(' ')
  const exchange = fakeExchange({
    method: 'POST',
    path: path.replace('{model}', name),
    params: { model: name },
    route: route.name ?? route.path,
    body: JSON.stringify({ model: name, ...bodies[endpointOf(route)] }),
  })
  const run = (index: number): Promise<void> | void =>
    stages[index]?.handle?.(exchange as Exchange, (() => run(index + 1)) as Next)
  const fault = await errorFrom(() => run(0) ?? noNext())
  return fault?.status === 404
}
/** Endpoints of tasks and conversations. */
const OTHERS: ReadonlySet<string> = new Set(['vidu', 'openai-video', 'midjourney', 'realtime'])
/** A name that the entry matches. */
const exampleNameOf = (name: string): string => name.replace(/\{[^}]*\}|\*/g, 'a1')

t.test('model list: lists exactly the endpoints that do not refuse the model with 404', async t => {
  let endpointCount = 0
  for (const entry of catalogue.all) {
    const name = exampleNameOf(entry.name)
    const endpoints = endpointsOfModels.of(entry)
    const accepted = new Set<string>()
    for (const each of routeStages)
      if (!(await isRefused(each, name))) accepted.add(endpointOf(each.route))
    const translated = endpoints.filter(each => !OTHERS.has(each))
    t.same(translated.sort(), [...accepted].sort(), name)
    endpointCount += endpoints.length
  }
  t.ok(
    routes.length >= 15 && endpointCount > 100,
    `${routes.length} routes, ${endpointCount} endpoints`,
  )
})

t.test('model list: text, image, embedding and audio models list their endpoints', async t => {
  const text = ['openai', 'openai-response', 'anthropic', 'gemini', 'interactions']
  const imageEndpoints = ['image-generation', ...text]
  for (const [name, expected] of [
    ['gp-4.1', text],
    ['cl-haiku-4-5', text],
    ['gx-2.5-flash', text],
    ['rc-v3', imageEndpoints],
    ['rc-v3-svg', imageEndpoints],
    ['gp-4o-image', imageEndpoints],
    ['flux-1.1-pro', imageEndpoints],
    ['gp-embedding-3-small', ['embeddings']],
    ['gx-embedding-001', ['embeddings']],
    ['multimodal-embedding-v1', ['embeddings']],
    ['tts-1', ['audio-speech']],
    ['whisper-1', ['audio-transcription']],
    ['rerank-v3.5', ['rerank']],
    ['omni-moderation-latest', ['moderations']],
    ['vdq3', ['vidu', 'openai-video']],
    ['audio-tts', ['vidu']],
    ['mj-fast', ['midjourney']],
    ['gp-realtime', ['realtime']],
  ] as const) {
    const match = catalogue.find(name)
    const endpoints = match && endpointsOfModels.of(match.entry)
    t.same([...(endpoints ?? ['?'])].sort(), [...expected].sort(), name)
  }
})

t.test('model list: no shipped model is without an endpoint', async t => {
  for (const entry of catalogue.all) t.not(endpointsOfModels.of(entry).length, 0, entry.name)
})

t.test('model list: names the native methods that work for a model', async t => {
  const content = ['generateContent', 'countTokens']
  for (const [name, expected] of [
    ['gx-2.5-pro', content],
    ['cl-haiku-4-5', content],
    ['multimodal-embedding-v1', ['embedContent', 'batchEmbedContents']],
    ['o3-pro', []],
    ['vdq3', []],
    ['gp-realtime', []],
    ['whisper-1', []],
  ] as const) {
    const match = catalogue.find(name)
    t.same(match && nativeMethodsOf(match.entry, host), expected, name)
  }
})
